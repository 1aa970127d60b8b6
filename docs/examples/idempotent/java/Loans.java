// Charges 50 cents for a loan that is overdue, once per event, however often the event
// comes. PostgreSQL's driver (org.postgresql:postgresql) is all that it needs:
//
//   DATABASE_URL='jdbc:postgresql://127.0.0.1/library?user=user&password=secret' PORT=8080 \
//       java -cp postgresql.jar Loans.java

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Executors;

public class Loans {
    public static void main(String[] args) throws IOException {
        var port = Integer.parseInt(System.getenv("PORT"));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(16)); // endpoint.max_in_flight
        server.createContext("/loans/overdue", Loans::handle);
        server.start();
    }

    static void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            var loan = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            var event = exchange.getRequestHeaders().getFirst("Idempotency-Key");
            exchange.sendResponseHeaders(event == null || event.isEmpty() ? 400 : answer(event, loan), -1);
        }
    }

    static int answer(String event, String loan) {
        // A connection per request keeps this short; take a pool, such as HikariCP.
        try (var db = DriverManager.getConnection(System.getenv("DATABASE_URL"))) {
            return charge(db, event, loan);
        } catch (SQLException e) {
            e.printStackTrace();
            return 503; // again, later
        }
    }

    /** Remembers the event and adds the fee in one transaction: both, or neither. */
    static int charge(Connection db, String event, String loan) throws SQLException {
        db.setAutoCommit(false); // what is not committed is rolled back by close()
        if (update(db, "INSERT INTO handled_events (event_id) VALUES (?) ON CONFLICT DO NOTHING", event) == 0) {
            return 204; // a repeat
        }
        if (update(db, "UPDATE loans SET fee_cents = fee_cents + 50 WHERE loan = ?", loan) == 0) {
            return 422; // no such loan: to the dead letters, and the event is not remembered
        }
        db.commit();
        return 204;
    }

    static int update(Connection db, String sql, String value) throws SQLException {
        try (var statement = db.prepareStatement(sql)) {
            statement.setString(1, value);
            return statement.executeUpdate();
        }
    }
}

package com.github.retryd.bench;

import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import org.apache.hc.client5.http.async.methods.SimpleHttpRequest;
import org.apache.hc.client5.http.async.methods.SimpleHttpResponse;
import org.apache.hc.client5.http.async.methods.SimpleRequestBuilder;
import org.apache.hc.client5.http.async.methods.SimpleRequestProducer;
import org.apache.hc.client5.http.async.methods.SimpleResponseConsumer;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.async.MinimalHttpAsyncClient;
import org.apache.hc.client5.http.impl.nio.PoolingAsyncClientConnectionManagerBuilder;
import org.apache.hc.core5.concurrent.FutureCallback;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.HttpHost;

/** {@link Post} without a thread for each request; those beyond the connections wait. */
public final class AsyncPost {
    private final MinimalHttpAsyncClient client;
    private final HttpHost host;
    private final String path;

    public AsyncPost(String url, int connections) {
        URI uri = URI.create(url);
        host = new HttpHost(uri.getScheme(), uri.getHost(), uri.getPort());
        path = uri.getPath();
        client = HttpAsyncClients.createMinimal(PoolingAsyncClientConnectionManagerBuilder.create()
                .setMaxConnTotal(connections)
                .setMaxConnPerRoute(connections)
                .setDefaultConnectionConfig(Post.BOUNDED)
                .build());
        client.start();
    }

    /** Completes if the endpoint accepts the value. */
    public CompletableFuture<Void> post(byte[] value) {
        SimpleHttpRequest request = SimpleRequestBuilder.post()
                .setHttpHost(host)
                .setPath(path)
                .setBody(value, ContentType.APPLICATION_OCTET_STREAM)
                .build();
        var answered = new CompletableFuture<Void>();
        client.execute(SimpleRequestProducer.create(request), SimpleResponseConsumer.create(), completing(answered));
        return answered;
    }

    private static FutureCallback<SimpleHttpResponse> completing(CompletableFuture<Void> answered) {
        return new FutureCallback<>() {
            @Override
            public void completed(SimpleHttpResponse response) {
                if (response.getCode() == 200) {
                    answered.complete(null);
                } else {
                    failed(new IOException("the endpoint answers " + response.getCode()));
                }
            }

            @Override
            public void failed(Exception e) {
                answered.completeExceptionally(e);
            }

            @Override
            public void cancelled() {
                answered.cancel(false);
            }
        };
    }
}

package com.github.retryd.bench;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Reads one topic and its retry topics with Spring Kafka, and POSTs each record. */
@Configuration
@EnableKafka
public class Spring {
    private static final Map<String, Object> BROKERS = Map.of("bootstrap.servers", System.getProperty("brokers"));

    /**
     * System properties: brokers, topic, group, url, partitions; connections (requests
     * at a time); retries, delay (ms) of each; tuned (else all is left as it is), with the
     * pollTimeout poll (ms); async (else a partition's records are handled one after the
     * other).
     */
    public static void main(String[] args) throws InterruptedException {
        Class<?> listener = Boolean.getBoolean("async") ? AsyncListener.class : Listener.class;
        new AnnotationConfigApplicationContext(Spring.class, Retries.class, listener).registerShutdownHook();
        Thread.currentThread().join(); // until SIGTERM
    }

    static class Listener {
        private final Post post = new Post(System.getProperty("url"), Integer.getInteger("connections"));

        @KafkaListener(topics = "${topic}", groupId = "${group}")
        void listen(ConsumerRecord<byte[], byte[]> record) throws IOException {
            post.post(record.value());
        }
    }

    static class AsyncListener {
        private final AsyncPost post = new AsyncPost(System.getProperty("url"), Integer.getInteger("connections"));

        @KafkaListener(topics = "${topic}", groupId = "${group}")
        CompletableFuture<Void> listen(ConsumerRecord<byte[], byte[]> record) {
            return post.post(record.value());
        }
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> kafkaListenerContainerFactory() {
        Map<String, Object> config = new HashMap<>(BROKERS);
        config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        var factory = new ConcurrentKafkaListenerContainerFactory<byte[], byte[]>();
        factory.setConsumerFactory(
                new DefaultKafkaConsumerFactory<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
        if (Retries.TUNED) {
            factory.setConcurrency(Retries.PARTITIONS); // of each topic
            Retries.tune(factory.getContainerProperties());
        }
        return factory;
    }

    @Bean
    KafkaTemplate<byte[], byte[]> template() {
        Map<String, Object> config = new HashMap<>(BROKERS);
        if (Retries.TUNED) {
            config.put(ProducerConfig.LINGER_MS_CONFIG, 0); // a failing record waits for its write
        }
        return new KafkaTemplate<>(
                new DefaultKafkaProducerFactory<>(config, new ByteArraySerializer(), new ByteArraySerializer()));
    }

    @Bean
    KafkaAdmin admin() {
        return new KafkaAdmin(BROKERS);
    }

    @Bean
    ThreadPoolTaskScheduler scheduler() {
        var scheduler = new ThreadPoolTaskScheduler();
        if (Retries.TUNED) {
            scheduler.setPoolSize(Retries.PARTITIONS);
        }
        return scheduler;
    }
}

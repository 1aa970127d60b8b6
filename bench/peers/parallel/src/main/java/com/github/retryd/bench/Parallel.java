package com.github.retryd.bench;

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads one topic with Confluent Parallel Consumer, and POSTs each record. */
public final class Parallel {
    private Parallel() {}

    /** System properties: brokers, topic, group, url, concurrency (requests at a time). */
    public static void main(String[] args) throws InterruptedException {
        int concurrency = Integer.getInteger("concurrency");
        Post post = new Post(System.getProperty("url"), concurrency);
        ParallelStreamProcessor<byte[], byte[]> processor =
                ParallelStreamProcessor.createEosStreamProcessor(ParallelConsumerOptions.<byte[], byte[]>builder()
                        .consumer(consumer())
                        .ordering(ProcessingOrder.UNORDERED)
                        .maxConcurrency(concurrency)
                        .commitMode(CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS) // the quickest
                        .build());
        Runtime.getRuntime().addShutdownHook(new Thread(processor::closeDontDrainFirst));
        processor.subscribe(List.of(System.getProperty("topic")));
        processor.poll(record -> {
            try {
                post.post(record.value());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        Thread.currentThread().join(); // until SIGTERM
    }

    private static KafkaConsumer<byte[], byte[]> consumer() {
        return new KafkaConsumer<>(
                Map.of(
                        ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, System.getProperty("brokers"),
                        ConsumerConfig.GROUP_ID_CONFIG, System.getProperty("group"),
                        ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                        ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer());
    }
}

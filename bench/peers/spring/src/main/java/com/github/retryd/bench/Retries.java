package com.github.retryd.bench;

import java.time.Duration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer.HeaderNames.HeadersToAdd;
import org.springframework.kafka.retrytopic.RetryTopicConfiguration;
import org.springframework.kafka.retrytopic.RetryTopicConfigurationBuilder;
import org.springframework.kafka.retrytopic.RetryTopicConfigurationSupport;
import org.springframework.kafka.retrytopic.SameIntervalTopicReuseStrategy;

/** The retry topics, and what makes them quick and punctual. */
@Configuration
public class Retries extends RetryTopicConfigurationSupport {
    static final boolean TUNED = Boolean.getBoolean("tuned");
    static final int PARTITIONS = Integer.getInteger("partitions");
    static final int COUNT = Integer.getInteger("retries");
    private static final long DELAY = Long.getLong("delay");

    /** Every retry has a topic of its own, as retryd's tiers have; names end in the group. */
    @Bean
    RetryTopicConfiguration retryTopics(KafkaTemplate<byte[], byte[]> template) {
        String group = System.getProperty("group");
        var topics = RetryTopicConfigurationBuilder.newInstance()
                .maxAttempts(1 + COUNT)
                .sameIntervalTopicReuseStrategy(SameIntervalTopicReuseStrategy.MULTIPLE_TOPICS)
                .autoCreateTopicsWith(PARTITIONS, (short) 1)
                .retryTopicSuffix("-retry-" + group)
                .dltSuffix("-dlt-" + group);
        if (DELAY > 0) {
            topics.fixedBackOff(DELAY);
        } else {
            topics.noBackoff();
        }
        if (TUNED) {
            topics.autoStartDltHandler(false); // as retryd, which does not read it either
        }
        return topics.create(template);
    }

    /**
     * A partition waits for its next due record by being paused. How long a consumer
     * may not look at what was resumed is how late the record may be. Short polls cost
     * processor time where nothing waits.
     */
    static void tune(ContainerProperties properties) {
        properties.setPollTimeout(Long.getLong("poll"));
        properties.setPollTimeoutWhilePaused(Duration.ofMillis(1));
    }

    @Override
    protected void configureCustomizers(CustomizersConfigurer customizers) {
        if (!TUNED) {
            return;
        }
        // Else a failure throws away, and fetches again, the records that were read behind it.
        customizers.customizeErrorHandler(handler -> handler.setSeekAfterError(false));
        // Kilobytes with each record.
        customizers.customizeDeadLetterPublishingRecoverer(recoverer -> recoverer.excludeHeader(HeadersToAdd.EX_STACKTRACE));
    }
}

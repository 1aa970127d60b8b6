package inspect

import (
	"errors"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
)

// SurveyShared looks at the topics that all relays share, as SurveyTopics does at those
// of one.
func SurveyShared(cluster *kafka.Cluster, cfg *config.Config) (Topics, error) {
	control, err := cluster.SurveyCompacted(cfg.Topics.Control)
	if err != nil {
		return Topics{}, err
	}
	return Topics{
		Topics:  []Topic{describeTopic(RoleControl, control, 1)},
		Changes: []Change{}, Problems: []string{}, Warnings: []string{},
	}, nil
}

// CreateShared does what the daemon would do at its start, and looks again.
func CreateShared(cluster *kafka.Cluster, cfg *config.Config) (Topics, error) {
	changes := []Change{}
	var mains []string
	for _, relay := range cfg.Relays {
		mains = append(mains, relay.Topic)
	}
	_, _, err := cluster.PlanCompacted(cfg.Topics.Control, mains, true, func(c kafka.Change) {
		changes = append(changes, Change(c))
	})
	var refused *kafka.PlanError
	if err != nil && !errors.As(err, &refused) {
		return Topics{}, err
	}
	t, err := SurveyShared(cluster, cfg)
	t.Changes = changes
	if refused != nil && err == nil {
		t.addProblems(plain(refused.Problems))
	}
	return t, err
}

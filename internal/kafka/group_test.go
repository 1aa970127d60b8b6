package kafka

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const describeGroupsKey = 15

func TestGroupTellsItsMembers(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 1, nil)
	join(t, config, "g", "a")
	tests := []struct {
		name, group string
		want        Group
	}{
		{"with a member", "g", Group{State: "Stable", Members: 1}},
		{"never seen", "other", Group{State: "Dead"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Group(tt.group)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("group (-want +got):\n%s", diff)
			}
		})
	}
}

// A coordinator that moved says so once: the next question goes to the new one.
func TestDescribingFindsAMovedCoordinator(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(3))
	c := connect(t, config)
	if _, err := c.Group("g"); err != nil {
		t.Fatal(err)
	}
	for before := fake.CoordinatorFor("g"); fake.CoordinatorFor("g") == before; {
		fake.RehashCoordinators()
	}
	if _, err := c.Group("g"); !Unreachable(err) {
		t.Fatalf("the old coordinator: %v", err)
	}
	if _, err := c.GroupAccess("g"); err != nil {
		t.Errorf("the next question: %v", err)
	}
}

func TestGroupIsNotGuessedFromAnIncompleteAnswer(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	fake.ControlKey(describeGroupsKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		return r.ResponseKind(), nil, true
	})
	if g, err := c.Group("g"); !errors.Is(err, sarama.ErrIncompleteResponse) {
		t.Errorf("group %v, %v, want %v", g, err, sarama.ErrIncompleteResponse)
	}
}

func TestBrokersAreListedInOrder(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(4))
	c := connect(t, config)
	var want []Broker
	for id, addr := range fake.ListenAddrs() {
		want = append(want, Broker{ID: int32(id), Addr: addr})
	}
	if diff := cmp.Diff(want, c.Brokers()); diff != "" {
		t.Errorf("brokers (-want +got):\n%s", diff)
	}
}

package kafka

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// Group is what the cluster says of a consumer group.
type Group struct {
	State   string // Stable, Empty, PreparingRebalance, CompletingRebalance; Dead if there is no such group
	Members int
}

// Group describes a consumer group. A *PlanError says that somebody has to grant
// access.
func (c *Cluster) Group(name string) (Group, error) {
	described, err := c.describeGroups([]string{name}, false)
	if err != nil {
		return Group{}, err
	}
	g := described[name]
	if !errors.Is(g.Err, sarama.ErrNoError) {
		return Group{}, cmp.Or(groupDenied(name, g.Err), fmt.Errorf("describe group %s: %w", name, g.Err))
	}
	return Group{State: g.State, Members: len(g.Members)}, nil
}

// GroupAccess returns what this client may do with each group, whether it exists or
// not: everything on a cluster without an authorizer, nothing where it lacks
// Describe, which Read implies and without which Kafka does not tell.
func (c *Cluster) GroupAccess(names ...string) (map[string][]Operation, error) {
	described, err := c.describeGroups(names, true)
	if err != nil {
		return nil, err
	}
	access := make(map[string][]Operation, len(names))
	for name, g := range described {
		switch g.Err {
		case sarama.ErrNoError:
			access[name] = operations(g.AuthorizedOperations)
		case sarama.ErrGroupAuthorizationFailed:
			access[name] = nil
		default:
			return nil, fmt.Errorf("ask what may be done with group %s: %w", name, g.Err)
		}
	}
	return access, nil
}

// describeGroups asks each group's coordinator, once for all its groups. Of a group
// whose coordinator may not be asked for, the description has that error only.
func (c *Cluster) describeGroups(names []string, access bool) (map[string]*sarama.GroupDescription, error) {
	described := make(map[string]*sarama.GroupDescription, len(names))
	byCoordinator := map[*sarama.Broker][]string{}
	for _, name := range names {
		coordinator, err := c.client.Coordinator(name)
		switch {
		case errors.Is(err, sarama.ErrGroupAuthorizationFailed):
			described[name] = &sarama.GroupDescription{GroupId: name, Err: sarama.ErrGroupAuthorizationFailed}
		case err != nil:
			return nil, fmt.Errorf("find the coordinator of group %s: %w", name, err)
		default:
			byCoordinator[coordinator] = append(byCoordinator[coordinator], name)
		}
	}
	for coordinator, groups := range byCoordinator {
		req := &sarama.DescribeGroupsRequest{Version: 5, Groups: groups, IncludeAuthorizedOperations: access} // negotiated down
		resp, err := coordinator.DescribeGroups(req)
		switch {
		case err != nil: // the connection broke: the next try opens a new one
			_ = coordinator.Close()
			_ = c.client.RefreshCoordinator(groups[0])
			return nil, fmt.Errorf("describe groups at %s: %w", coordinator.Addr(), err)
		case access && req.Version < 3:
			return nil, errSilent
		}
		for _, g := range resp.Groups {
			described[g.GroupId] = g
		}
	}
	return described, c.complete(names, described)
}

// complete returns an error of a group that the next try may describe.
func (c *Cluster) complete(names []string, described map[string]*sarama.GroupDescription) error {
	for _, name := range names {
		switch g := described[name]; {
		case g == nil:
			return fmt.Errorf("describe group %s: %w", name, sarama.ErrIncompleteResponse)
		case Unreachable(g.Err): // the coordinator moved or is not ready
			_ = c.client.RefreshCoordinator(name)
			return fmt.Errorf("describe group %s: %w", name, g.Err)
		}
	}
	return nil
}

package kafka

import "fmt"

// Survey is what there is of a main topic and the topics beside it.
type Survey struct {
	Main   TopicState
	Topics []TopicState // in the order of the specs
}

// TopicState is one topic, held against what is wanted of it.
type TopicState struct {
	Topic    Topic    // its name, and what was seen of the rest
	Missing  bool     // it does not exist
	Lacks    int32    // how many partitions main has more
	Hidden   bool     // Describe or DescribeConfigs is not granted, and the problem says so
	Problems []string // what breaks a promise; what Plan can create is none
	Warnings []string // what works, but not as well as it could
}

// Survey looks at main and the topics beside it, and changes nothing. Topics that
// exist are judged only if main does and can be looked at: it is the measure. An
// error says that the cluster did not answer.
func (c *Cluster) Survey(main string, specs []TopicSpec) (Survey, error) {
	names := []string{main}
	for _, s := range specs {
		names = append(names, s.Name)
	}
	found, denied, err := c.describe(names)
	if err == nil {
		err = c.configure(found, denied)
	}
	if err != nil {
		return Survey{}, err
	}
	s := Survey{Main: state(main, found, denied)}
	if s.Main.Missing {
		s.Main.Problems = mainMissing(main).Problems
	}
	for _, spec := range specs {
		t := state(spec.Name, found, denied)
		if s.Main.seen() && t.seen() {
			t.Lacks = max(0, s.Main.Topic.Partitions-t.Topic.Partitions)
			t.Problems, t.Warnings = judge(s.Main.Topic, t.Topic, spec)
		}
		s.Topics = append(s.Topics, t)
	}
	return s, nil
}

func state(name string, found map[string]Topic, denied map[string]*PlanError) TopicState {
	t, exists := found[name]
	t.Name = name
	if no := denied[name]; no != nil {
		return TopicState{Topic: t, Hidden: true, Problems: no.Problems}
	}
	return TopicState{Topic: t, Missing: !exists}
}

func (t TopicState) seen() bool { return !t.Missing && !t.Hidden }

// incomplete says that Plan has something to create.
func (t TopicState) incomplete() bool { return t.Missing || t.Lacks > 0 }

func mainMissing(main string) *PlanError {
	return &PlanError{Problems: []string{fmt.Sprintf("main topic %s does not exist: create it, or correct the relay's topic; retryd never creates a main topic", main)}}
}

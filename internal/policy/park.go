package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// leastPark is the least delay of a park topic: shorter waits are what tiers are for.
const leastPark = time.Minute

// Park is a topic for waits that are longer than the tiers': a duration, or a mapping.
type Park struct {
	Delay time.Duration `mapstructure:"delay"` // whole seconds, 1 min to the longest delay
	Topic string        `mapstructure:"topic"` // default <prefix>.park.<delay>
}

// Name spells the delay as short as can be, such as 24h or 1h30m. It fits a topic's name
// and a label.
func (p Park) Name() string {
	name := p.Delay.String()
	if strings.HasSuffix(name, "m0s") {
		name = strings.TrimSuffix(name, "0s")
	}
	if strings.HasSuffix(name, "h0m") {
		name = strings.TrimSuffix(name, "0m")
	}
	return name
}

// parkDelays returns the delays, the shortest first.
func (c Config) parkDelays() []time.Duration {
	var delays []time.Duration
	for _, p := range c.Park {
		delays = append(delays, p.Delay)
	}
	slices.Sort(delays)
	return delays
}

func (c Config) checkPark() []error {
	var errs []error
	seen := map[time.Duration]int{}
	for i, p := range c.Park {
		key := fmt.Sprintf("park[%d].delay", i)
		first, twice := seen[p.Delay]
		switch {
		case p.Delay < leastPark:
			errs = append(errs, fmt.Errorf("%s: %v is too short; a park topic is for waits of at least %v", key, p.Delay, leastPark))
		case p.Delay%time.Second != 0:
			errs = append(errs, fmt.Errorf("%s: %v is not in whole seconds, as the name of a park topic is", key, p.Delay))
		case twice:
			errs = append(errs, fmt.Errorf("%s: %v is the delay of park[%d] too; one topic for each delay is enough", key, p.Delay, first))
		default:
			seen[p.Delay] = i
			errs = append(errs, checkDelay(key, p.Delay)...)
		}
	}
	return errs
}

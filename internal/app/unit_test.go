package app

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/config"
)

// setting returns the value of a key of the systemd unit.
func setting(t *testing.T, key string) string {
	t.Helper()
	unit, err := os.ReadFile("../../deploy/systemd/retryd.service")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllSubmatch(unit, -1)
	if len(found) != 1 {
		t.Fatalf("the unit has %s %d times, want once", key, len(found))
	}
	return string(found[0][1])
}

func seconds(t *testing.T, key string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(setting(t, key))
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return d
}

func TestTimesOfTheUnitFitThoseOfTheDaemon(t *testing.T) {
	if got, least := seconds(t, "TimeoutStopSec"), config.Default().StopTimeout+stopMargin; got < least {
		t.Errorf("TimeoutStopSec is %v, want at least the default stop_timeout and the margin, %v", got, least)
	}
	if got, least := seconds(t, "WatchdogSec"), 20*lookInterval; got < least {
		t.Errorf("WatchdogSec is %v, want at least %v: the daemon looks every %v", got, least, lookInterval)
	}
	burst, err := strconv.Atoi(setting(t, "StartLimitBurst"))
	if err != nil {
		t.Fatal(err)
	}
	if starts, within := time.Duration(burst)*seconds(t, "RestartSec"), seconds(t, "StartLimitIntervalSec"); starts >= within {
		t.Errorf("%d starts take %v, so that the limit of %v is never reached", burst, starts, within)
	}
}

package tier

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/status"
)

// yes lets every line be logged.
func yes(trouble) (int, bool) { return 0, true }

func no(trouble) (int, bool) { return 0, false }

func TestTroubleIsNewsOnce(t *testing.T) {
	at := time.UnixMilli(1767323045123)
	group := trouble{kind: kindMember, of: "g"}
	with := func(change func(*trouble)) trouble {
		n := group
		change(&n)
		return n
	}
	tests := []struct {
		name  string
		raise []trouble
		want  []bool // logged
	}{
		{"the same again", []trouble{group, group}, []bool{true, false}},
		{"another reason", []trouble{group, with(func(n *trouble) { n.why = "other" })}, []bool{true, true}},
		{"a reason that changes with each try", []trouble{group, with(func(n *trouble) { n.why, n.passing = "port 4711", true })}, []bool{true, false}},
		{"another group", []trouble{group, with(func(n *trouble) { n.of = "h" })}, []bool{true, true}},
		{"another kind", []trouble{group, with(func(n *trouble) { n.kind = kindCommit })}, []bool{true, true}},
		{"part of every start, then a failure", []trouble{with(func(n *trouble) { n.hush = time.Minute }), with(func(n *trouble) { n.passing = true })}, []bool{false, true}},
		{"what may pass, then what does not", []trouble{with(func(n *trouble) { n.grace = time.Second }), with(func(n *trouble) { n.why, n.passing = "denied", true })}, []bool{false, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var open troubles
			var got []bool
			for _, n := range tt.raise {
				_, log := open.raise(n, at, yes)
				got = append(got, log)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("logged (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTroubleGoesOnWhereItEndedAMomentAgoUntold(t *testing.T) {
	start := time.UnixMilli(1767323045123)
	group := trouble{kind: kindMember, of: "g", hush: time.Minute}
	for name, tt := range map[string]struct {
		lasts, pause time.Duration
		goesOn       bool
	}{
		"untold":               {time.Second, moment - 1, true},
		"told":                 {time.Minute, moment - 1, false},
		"longer than a moment": {time.Second, moment, false},
	} {
		var open troubles
		open.raise(group, start, no)
		open.ripen(start.Add(tt.lasts), no) // whether or not the limiter lets the line through
		open.end(group.kind, group.of, start.Add(tt.lasts))
		again := start.Add(tt.lasts + tt.pause)
		if got, _ := open.raise(group, again, no); got.since.Equal(start) != tt.goesOn {
			t.Errorf("%s: began after %v, goes on: %v", name, got.since.Sub(start), tt.goesOn)
		}
	}
}

func TestTroubleThatWasKeptOutOfTheLogEndsOutOfIt(t *testing.T) {
	for logged, may := range map[bool]allow{true: yes, false: no} {
		var open troubles
		open.raise(trouble{kind: kindCommit, of: "g"}, time.Now(), may)
		open.raise(trouble{kind: kindCommit, of: "g"}, time.Now(), yes) // the same: nobody asks again
		if ended, ok := open.end(kindCommit, "g", time.Now()); !ok || ended.logged != logged {
			t.Errorf("ended %v, its beginning logged %v, want true, %v", ok, ended.logged, logged)
		}
		if _, ok := open.end(kindCommit, "g", time.Now()); ok {
			t.Error("a trouble ended twice")
		}
	}
}

func TestTroubleIsShownAndLoggedWhenItLasts(t *testing.T) {
	at := time.Now()
	var open troubles
	ready := func() (ready bool) {
		open.report(func(r bool) { ready = r })
		return ready
	}
	n := trouble{kind: kindMember, of: "g", why: "joining", grace: 5 * time.Second, hush: 10 * time.Second}
	open.raise(n, at, yes)
	for _, step := range []struct {
		after          time.Duration
		shown, logging bool
	}{
		{4 * time.Second, false, false},
		{5 * time.Second, true, false},
		{9 * time.Second, true, false},
		{10 * time.Second, true, true},
		{11 * time.Second, true, false}, // once
	} {
		log := open.ripen(at.Add(step.after), yes)
		problems, _ := open.problems()
		if shown := len(problems) > 0; shown != step.shown || open.has(kindMember, "g") != step.shown || ready() == step.shown {
			t.Errorf("after %v it is shown: %v, ready: %v, want it shown: %v", step.after, shown, ready(), step.shown)
		}
		if (len(log) > 0) != step.logging {
			t.Errorf("after %v %d lines, want one: %v", step.after, len(log), step.logging)
		}
	}
	if ended, ok := open.end(kindMember, "g", at.Add(20*time.Second)); !ok || !ended.logged {
		t.Errorf("ended %v, logged %v, want both", ok, ended.logged)
	}
}

func TestTroubleThatPassesIsNeverHeardOf(t *testing.T) {
	at := time.Now()
	var open troubles
	open.raise(trouble{kind: kindTopics, of: "orders", grace: 5 * time.Second}, at, yes)
	if ended, ok := open.end(kindTopics, "orders", at.Add(time.Second)); !ok || ended.logged {
		t.Errorf("ended %v, logged %v, want it ended without a line", ok, ended.logged)
	}
	open.raise(trouble{kind: kindTopics, of: "orders", grace: 5 * time.Second}, at.Add(time.Second+moment), yes)
	if log := open.ripen(at.Add(2*moment), yes); len(log) > 0 {
		t.Error("two that pass count as one that lasts")
	}
}

// What follows from a topic that does not exist is told by the look at the topics, or
// by itself where the look does not see it.
func TestMissingTopicIsToldOnce(t *testing.T) {
	at := time.Now()
	read := trouble{kind: kindRead, of: "orders/0", why: "gone", missing: true, hush: time.Minute}
	topics := trouble{kind: kindTopics, of: "orders", why: "orders does not exist", missing: true}
	var open troubles
	told := func(after time.Duration, logged int, want ...string) {
		t.Helper()
		if n := len(open.ripen(at.Add(after), yes)); n != logged {
			t.Errorf("after %v %d lines, want %d", after, n, logged)
		}
		var got []string
		problems, _ := open.problems()
		for _, p := range problems {
			got = append(got, p.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problems after %v (-want +got):\n%s", after, diff)
		}
	}
	if _, log := open.raise(read, at, yes); log {
		t.Error("logged before the look at the topics could tell")
	}
	told(time.Second, 0, "cannot read orders/0: gone")
	if _, log := open.raise(topics, at.Add(2*time.Second), yes); !log {
		t.Error("the look at the topics is not logged")
	}
	told(time.Hour, 0, "orders does not exist")
	open.end(kindTopics, "orders", at.Add(time.Hour))
	told(time.Hour+time.Minute-1, 0, "cannot read orders/0: gone")
	topics.missing, topics.why = false, "orders is compacted"
	open.raise(topics, at.Add(time.Hour), yes)
	told(time.Hour+time.Minute, 1, "orders is compacted", "cannot read orders/0: gone")
	if ended, _ := open.end(kindRead, "orders/0", at.Add(2*time.Hour)); !ended.logged {
		t.Error("its end is not logged, though its beginning was")
	}
}

func TestTroubleThatComesBackWithinAMomentGoesOn(t *testing.T) {
	began := time.Now()
	var open troubles
	n := trouble{kind: kindMember, of: "g", grace: moment}
	raise := func(after time.Duration) trouble {
		raised, _ := open.raise(n, began.Add(after), yes)
		return raised
	}
	raise(0)
	open.end(kindMember, "g", began.Add(3*time.Second))
	if again := raise(moment); !again.since.Equal(began) || !again.shown {
		t.Errorf("since %v, shown %v; want it since its beginning, and shown", again.since.Sub(began), again.shown)
	}
	open.end(kindMember, "g", began.Add(time.Minute))
	if later := raise(time.Minute + moment); later.since.Equal(began) || later.shown {
		t.Errorf("since %v, shown %v; want it new after a moment", later.since.Sub(began), later.shown)
	}
}

// A topic that was made anew ends a session, and what a fetch says of it may come behind.
func TestTroubleThatComesBackIsExplainedByWhatExplainedIt(t *testing.T) {
	at := time.UnixMilli(1767323045123)
	var open troubles
	open.raise(trouble{kind: kindTopics, of: "orders", missing: true}, at, yes)
	read := trouble{kind: kindRead, of: "orders/0", missing: true, hush: time.Minute}
	open.raise(read, at, yes)
	at = at.Add(2 * moment)
	open.ripen(at, yes)
	if _, ok := open.end(kindRead, "orders/0", at); !ok {
		t.Fatal("was not open")
	}
	outOfRange := trouble{kind: kindRead, of: "orders/0", grace: moment, hush: moment}
	if _, log := open.raise(outOfRange, at, yes); log {
		t.Error("is logged although the missing topic explained it until now")
	}
	if log := open.ripen(at.Add(moment), yes); len(log) != 1 {
		t.Errorf("%d are logged when it has lasted without that, want one", len(log))
	}
}

func TestTroubleEndsWithTheLastRecordThatItHoldsUp(t *testing.T) {
	var open troubles
	for range 3 {
		open.raise(trouble{kind: kindWrite, of: "orders.DLT", records: 1}, time.Now(), yes)
	}
	open.raise(trouble{kind: kindWrite, of: "orders.DLT"}, time.Now(), yes) // one of them once more
	for left := 2; left >= 0; left-- {
		if _, ended := open.end(kindWrite, "orders.DLT", time.Now()); ended != (left == 0) {
			t.Errorf("with %d records held up it ended: %v", left, ended)
		}
	}
}

func TestTroubleLapsesWhenItIsNotRenewed(t *testing.T) {
	at := time.Now()
	var open troubles
	for _, of := range []string{"quiet", "loud"} {
		open.raise(trouble{kind: kindRead, of: of}, at, yes)
	}
	open.raise(trouble{kind: kindCommit, of: "quiet"}, at, yes)
	open.raise(trouble{kind: kindRead, of: "loud"}, at.Add(time.Minute), yes)
	if diff := cmp.Diff([]string{"quiet"}, open.lapsed(kindRead, at.Add(time.Second))); diff != "" {
		t.Errorf("lapsed (-want +got):\n%s", diff)
	}
}

func TestRelayIsReadyWithoutABlockingTrouble(t *testing.T) {
	var open troubles
	var ready bool
	report := func() (first bool) { return open.report(func(r bool) { ready = r }) }
	open.raise(trouble{kind: kindTopics, of: "orders"}, time.Now(), yes)
	if first := report(); ready || first {
		t.Error("ready although the topics do not stand")
	}
	open.end(kindTopics, "orders", time.Now())
	open.raise(trouble{kind: kindEndpoint}, time.Now(), yes)
	open.raise(trouble{kind: kindPause}, time.Now(), yes)
	if first := report(); !ready || !first {
		t.Error("not ready because of its endpoint, which no other instance reaches either")
	}
	open.raise(trouble{kind: kindWrite, of: "orders.DLT"}, time.Now(), yes)
	if report(); ready {
		t.Error("ready although the dead-letter topic takes nothing")
	}
	open.end(kindWrite, "orders.DLT", time.Now())
	if first := report(); !ready || first {
		t.Error("not ready again, or for the first time twice")
	}
}

func TestProblemsAreForPeople(t *testing.T) {
	at := time.UnixMilli(1767323045123).UTC()
	var open troubles
	for i, n := range []trouble{
		{kind: kindPause, of: "http://h/", why: "delivery pauses"},
		{kind: kindMember, of: "g2", why: "joining"},
		{kind: kindMember, of: "g1", why: "joining"},
		{kind: kindMember, of: "g3", why: "not authorized", fault: true},
		{kind: kindEndpoint, of: "http://h", why: "endpoint http://h/ gives no answer"},
		{kind: kindWrite, of: "orders.DLT", why: "not authorized"},
		{kind: kindCommit, of: "g1", why: "no broker answers"},
		{kind: kindRead, of: "orders/1", why: "not authorized"},
		{kind: kindRead, of: "orders/0", why: "not authorized"},
		{kind: kindTopics, of: "orders", why: "start is needed"},
	} {
		open.raise(n, at.Add(time.Duration(i)), yes)
	}
	want := []status.Problem{
		{Text: "start is needed", Since: at.Add(9), Blocking: true},
		{Text: "is not a member of g2, g1: joining", Since: at.Add(1), Blocking: true},
		{Text: "is not a member of g3: not authorized", Since: at.Add(3), Blocking: true},
		{Text: "cannot read orders/1, orders/0: not authorized", Since: at.Add(7), Blocking: true},
		{Text: "cannot commit for group g1: no broker answers", Since: at.Add(6), Blocking: true},
		{Text: "cannot write to topic orders.DLT, its records are held: not authorized", Since: at.Add(5), Blocking: true},
		{Text: "endpoint http://h/ gives no answer", Since: at.Add(4)},
		{Text: "delivery pauses", Since: at},
	}
	got, fault := open.problems()
	if diff := cmp.Diff(want, got); diff != "" || !fault {
		t.Errorf("fault %v, problems (-want +got):\n%s", fault, diff)
	}
}

func TestTroubleThatLastsHasItsLineThoughThatWasKeptBackAtFirst(t *testing.T) {
	for _, common := range []bool{false, true} {
		var open troubles
		start := time.Now()
		quiet := func(trouble) (int, bool) { return 0, false }
		open.raise(trouble{kind: kindPause, common: common}, start, quiet)
		told := open.ripen(start.Add(insist-time.Second), yes)
		if len(told) > 0 {
			t.Errorf("told again %v at once", told)
		}
		if told := open.ripen(start.Add(insist), yes); (len(told) == 1) == common {
			t.Errorf("common %v: told %v after a while; what is common another one has told", common, told)
		}
		if told := open.ripen(start.Add(time.Hour), yes); len(told) > 0 {
			t.Errorf("told %v twice", told)
		}
	}
}

func TestBrokersAreAwayWhereAnotherTroubleSaysSo(t *testing.T) {
	for _, tt := range []struct {
		trouble
		want bool
	}{
		{trouble{kind: kindMember, away: true}, true},
		{trouble{kind: kindRead, away: true}, true},
		{trouble{kind: kindMember}, false},
		{trouble{kind: kindMember, away: true, grace: time.Minute}, false}, // not told yet
		{trouble{kind: kindControl, away: true}, false},
		{trouble{kind: kindAwait, away: true}, false},
	} {
		var open troubles
		open.raise(tt.trouble, time.Now(), yes)
		if got := open.away(); got != tt.want {
			t.Errorf("%+v: away %v", tt.trouble, got)
		}
	}
}

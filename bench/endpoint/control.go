package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/retryd/retryd/bench/load"
)

// control is how the benchmark begins runs and asks about them.
func (e *endpoint) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", e.handleRun)
	mux.HandleFunc("POST /client", e.handleClient)
	mux.HandleFunc("GET /reached", e.handleReached)
	mux.HandleFunc("GET /report", e.handleReport)
	return mux
}

// handleRun begins a run by the plan in the body.
func (e *endpoint) handleRun(w http.ResponseWriter, r *http.Request) {
	var plan load.Plan
	if err := json.NewDecoder(r.Body).Decode(&plan); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.begin(plan)
}

// handleClient is told the process whose processor time counts: ?pid=.
func (e *endpoint) handleClient(w http.ResponseWriter, r *http.Request) {
	pid, err := strconv.ParseInt(r.FormValue("pid"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.current.Load().pid.Store(pid)
}

// handleReached answers 200 once the expected number of requests has arrived. It waits
// for as long as the client does.
func (e *endpoint) handleReached(w http.ResponseWriter, r *http.Request) {
	select {
	case <-e.current.Load().reached:
	case <-r.Context().Done():
		http.Error(w, "not reached", http.StatusRequestTimeout)
	}
}

func (e *endpoint) handleReport(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(e.current.Load().report()) // a client that left needs none
}

// report tells what came of the run so far.
func (r *run) report() load.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := load.Report{
		Problem: r.problem, Arrived: int(r.arrived.Load()), Repeats: int(r.repeats.Load()), Headers: r.headers,
		First: r.first.at, Last: r.last.at, CPU: r.last.cpu - r.first.cpu,
		Middle: r.middle.at, MiddleCPU: r.middle.cpu - r.first.cpu,
	}
	report.Late, report.Early = r.lateness(report.Arrived)
	report.Distinct, report.LastSecond = r.distinct()
	return report
}

// lateness sorts that of what has arrived, and counts what was early.
func (r *run) lateness(arrived int) (sorted []time.Duration, early int) {
	if r.plan.Retry > 0 {
		sorted = r.afterRetry()
	} else {
		for i := range min(arrived, len(r.late)) {
			sorted = append(sorted, time.Duration(r.late[i].Load()))
		}
	}
	slices.Sort(sorted)
	early, _ = slices.BinarySearch(sorted, 0)
	return sorted, early
}

// afterRetry returns how late the second requests were.
func (r *run) afterRetry() (late []time.Duration) {
	for i := r.plan.Warmup; i < len(r.retried); i++ {
		if at := r.retried[i].Load(); at != 0 {
			late = append(late, time.Duration(at-r.seen[i].Load())-r.plan.Retry)
		}
	}
	return late
}

// distinct counts the numbers that arrived, and those of the last second.
func (r *run) distinct() (all, lastSecond int) {
	newest := int64(0)
	for i := range r.seen {
		newest = max(newest, r.seen[i].Load())
	}
	for i := range r.seen {
		switch at := r.seen[i].Load(); {
		case at == 0:
		case at > newest-int64(time.Second):
			lastSecond++
			fallthrough
		default:
			all++
		}
	}
	return all, lastSecond
}

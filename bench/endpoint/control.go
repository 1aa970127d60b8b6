package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
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
		Problem: r.problem, Arrived: int(r.arrived.Load()), Warmup: r.plan.Warmup, Repeats: int(r.repeats.Load()), Headers: r.headers,
		First: r.first.at, Last: r.last.at, CPU: r.last.cpu - r.first.cpu,
	}
	report.Late, report.Early = lateness(r.late[:min(report.Arrived, len(r.late))])
	report.Distinct, report.LastSecond = r.distinct()
	return report
}

// lateness sorts, and counts what was early.
func lateness(late []atomic.Int64) (sorted []time.Duration, early int) {
	for i := range late {
		ns := late[i].Load()
		sorted = append(sorted, time.Duration(ns))
		if ns < 0 {
			early++
		}
	}
	slices.Sort(sorted)
	return sorted, early
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

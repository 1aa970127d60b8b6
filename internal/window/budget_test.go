package window

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestBudgetFollowsTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		budget := NewBudget(limit)
		held := map[*Share]int64{}
		var all []*Share
		one := func(t *rapid.T) *Share {
			if len(all) == 0 {
				t.Skip("nobody joined")
			}
			return rapid.SampledFrom(all).Draw(t, "share")
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(*rapid.T) {
				share := budget.Join()
				held[share] = 0
				all = append(all, share)
			},
			"add": func(t *rapid.T) {
				share, n := one(t), rapid.Int64Range(0, 60).Draw(t, "bytes")
				share.Add(n)
				if _, in := held[share]; in {
					held[share] += n
				}
			},
			"release": func(t *rapid.T) {
				share, n := one(t), rapid.Int64Range(0, 60).Draw(t, "bytes")
				share.Release(n)
				if _, in := held[share]; in {
					held[share] = max(held[share]-n, 0)
				}
			},
			"leave": func(t *rapid.T) {
				share := one(t)
				share.Leave()
				delete(held, share)
			},
			"": func(t *rapid.T) {
				total := int64(0)
				for _, n := range held {
					total += n
				}
				if budget.Total() != total {
					t.Fatalf("total %d, want %d", budget.Total(), total)
				}
				for share, n := range held {
					full := total >= limit && n >= max(limit/int64(len(held)), 1)
					if share.Held() != n || share.Full() != full {
						t.Fatalf("holds %d, full %v; want %d, %v of %v", share.Held(), share.Full(), n, full, held)
					}
				}
			},
		})
	})
}

func TestBudgetBoundsTheTotalAndStarvesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1000).Draw(t, "limit")
		budget := NewBudget(limit)
		shares := make([]*Share, rapid.IntRange(1, 20).Draw(t, "shares"))
		for i := range shares {
			shares[i] = budget.Join()
		}
		const largest = 10
		// Greedy ones, in an order of their own, who never release anything.
		for range 2000 {
			share := rapid.SampledFrom(shares).Draw(t, "share")
			if !share.Full() {
				share.Add(rapid.Int64Range(1, largest).Draw(t, "bytes"))
			}
		}
		if bound := 2*limit + largest*int64(len(shares)); budget.Total() > bound {
			t.Fatalf("total %d of %d, bound %d", budget.Total(), limit, bound)
		}
		for _, share := range shares {
			for !share.Full() {
				share.Add(1)
			}
			if share.Held() < limit/int64(len(shares)) {
				t.Fatalf("a share is full with %d of %d", share.Held(), limit)
			}
		}
	})
}

func TestBudgetLetsOneShareUseItAll(t *testing.T) {
	budget := NewBudget(100)
	busy, idle := budget.Join(), budget.Join()
	busy.Add(99)
	if busy.Full() {
		t.Error("full before the budget is used up")
	}
	busy.Add(1)
	if !busy.Full() || idle.Full() {
		t.Errorf("busy full: %v, idle full: %v", busy.Full(), idle.Full())
	}
	idle.Leave()
	idle.Add(5)
	idle.Leave()
	if budget.Total() != 100 || idle.Held() != 0 {
		t.Errorf("a share that left counts: total %d", budget.Total())
	}
}

func TestBudgetLetsAnEmptyShareReadHoweverSmallItIs(t *testing.T) {
	budget := NewBudget(1)
	first, second := budget.Join(), budget.Join()
	first.Add(10)
	if second.Full() {
		t.Error("a share that holds nothing is full")
	}
}

func TestBudgetIsExactUnderConcurrency(t *testing.T) {
	budget := NewBudget(1000)
	var wg sync.WaitGroup
	for range 8 {
		share := budget.Join()
		for range 2 {
			wg.Go(func() {
				for i := range int64(1000) {
					share.Add(i)
					_ = share.Full()
					share.Release(i)
				}
				share.Add(7)
			})
		}
		wg.Go(share.Leave) // in the middle of it
	}
	wg.Wait()
	if budget.Total() != 0 || budget.shares.Load() != 0 {
		t.Errorf("total %d, %d shares", budget.Total(), budget.shares.Load())
	}
}

func BenchmarkBudget(b *testing.B) {
	budget := NewBudget(1 << 20)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		share := budget.Join()
		defer share.Leave()
		for pb.Next() {
			share.Add(256)
			_ = share.Full()
			share.Release(256)
		}
	})
}

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
		part := budget.Part()
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
				share := part.Join()
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
					full := n > 0 && (total >= limit || total >= limit/2 && n >= limit/2/int64(len(held)))
					if share.Held() != n || share.Full() != full {
						t.Fatalf("holds %d, full %v; want %d, %v of %v", share.Held(), share.Full(), n, full, held)
					}
				}
			},
		})
	})
}

func TestBudgetBoundsTheTotalAndKeepsEachReserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(100, 10_000).Draw(t, "limit")
		budget := NewBudget(limit)
		parts := make([]*Part, rapid.IntRange(1, 5).Draw(t, "parts"))
		for i := range parts {
			parts[i] = budget.Part()
		}
		const largest = 10
		var shares []*Share
		// Greedy ones, in an order of their own, who never release anything, and come late.
		for range 2000 {
			if len(shares) == 0 || len(shares) < 20 && rapid.IntRange(0, 50).Draw(t, "join") == 0 {
				shares = append(shares, rapid.SampledFrom(parts).Draw(t, "part").Join())
			}
			share := rapid.SampledFrom(shares).Draw(t, "share")
			if !share.Full() {
				share.Add(rapid.Int64Range(1, largest).Draw(t, "bytes"))
			}
			if share.Roomy() && share.Full() {
				t.Fatalf("a share with %d of %d is full and roomy", share.Held(), budget.Total())
			}
		}
		if bound := limit + largest*int64(len(shares)); budget.Total() > bound {
			t.Fatalf("total %d of %d, bound %d", budget.Total(), limit, bound)
		}
	})
}

func TestBudgetReserveIsThereWhateverTheOthersHold(t *testing.T) {
	budget := NewBudget(1200)
	hog, other := budget.Part(), budget.Part()
	var greedy []*Share
	for range 3 {
		greedy = append(greedy, hog.Join())
	}
	late := []*Share{other.Join(), other.Join()}
	fill := func(shares []*Share) {
		for _, share := range shares {
			for !share.Full() {
				share.Add(1)
			}
		}
	}
	fill(greedy)
	if total := budget.Total(); total != 600+100+100 {
		t.Errorf("one relay takes %d of 1200, want the common half and its own reserve", total)
	}
	fill(late)
	for i, share := range late {
		if share.Held() != 150 {
			t.Errorf("share %d of the other relay holds %d, want all of its reserve of 150", i, share.Held())
		}
	}
	for _, share := range late {
		share.Release(30)
		if share.Roomy() {
			t.Error("roomy again at once: reading would start and stop with every record")
		}
		share.Release(8)
		if !share.Roomy() {
			t.Errorf("not roomy with %d of a reserve of 150", share.Held())
		}
	}
	greedy[0].Leave()
	greedy[1].Release(1000)
	if !greedy[2].Roomy() {
		t.Errorf("not roomy although the common half has room, total %d", budget.Total())
	}
}

func TestBudgetForgetsAShareThatLeft(t *testing.T) {
	part := NewBudget(100).Part()
	left, stays := part.Join(), part.Join()
	left.Add(30)
	left.Leave()
	left.Add(5)
	left.Release(7)
	left.Leave()
	stays.Add(50)
	if total := part.budget.Total(); total != 50 || left.Held() != 0 {
		t.Errorf("a share that left counts: total %d", total)
	}
	if !stays.Full() {
		t.Error("not full with the common half and all of the reserve")
	}
}

func TestBudgetLetsAnEmptyShareReadHoweverSmallItIs(t *testing.T) {
	part := NewBudget(1).Part()
	first, second := part.Join(), part.Join()
	first.Add(10)
	if second.Full() || !second.Roomy() {
		t.Error("a share that holds nothing is full")
	}
}

func TestBudgetIsExactUnderConcurrency(t *testing.T) {
	budget := NewBudget(1000)
	part := budget.Part()
	var wg sync.WaitGroup
	for range 8 {
		share := part.Join()
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
	if budget.Total() != 0 || part.shares.Load() != 0 {
		t.Errorf("total %d, %d shares", budget.Total(), part.shares.Load())
	}
}

func BenchmarkBudget(b *testing.B) {
	part := NewBudget(1 << 20).Part()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		share := part.Join()
		defer share.Leave()
		for pb.Next() {
			share.Add(256)
			_ = share.Full()
			share.Release(256)
		}
	})
}

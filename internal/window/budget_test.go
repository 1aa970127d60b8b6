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
					full := n > 0 && total >= limit/4+limit/2 && n >= limit/4/int64(len(held))
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
		const largest = 10 // what comes between two looks at Full: a fetch
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

// fill has shares take all that they may, in turn.
func fill(shares []*Share) {
	for again := true; again; {
		again = false
		for _, share := range shares {
			if !share.Full() {
				share.Add(1)
				again = true
			}
		}
	}
}

func join(part *Part, n int) (shares []*Share) {
	for range n {
		shares = append(shares, part.Join())
	}
	return shares
}

func heldBy(shares []*Share) (n int64) {
	for _, share := range shares {
		n += share.Held()
	}
	return n
}

func TestBudgetReserveIsThereWhateverTheOthersHold(t *testing.T) {
	budget := NewBudget(1600)
	greedy, modest := budget.Part(), budget.Part()
	early := join(greedy, 6)
	fill(early)
	if n := heldBy(early); n != 400+400 {
		t.Errorf("one relay takes %d of 1600, want its reserve and the common quarter", n)
	}
	early[0].Add(1000) // what a fetch brings
	late := join(greedy, 14)
	fill(late)
	if n := heldBy(late); n != 14*10 {
		t.Errorf("its later partitions take %d, want 10 each: their shares, whatever the earlier ones hold", n)
	}
	others := join(modest, 2)
	fill(others)
	if n := heldBy(others); n != 400 || budget.Total() > 1600+1000 {
		t.Errorf("the other relay takes %d of its reserve of 400, %d of 1600 in all", n, budget.Total())
	}
}

func TestBudgetIsRoomyAgainOnlyWithSomeRoom(t *testing.T) {
	budget := NewBudget(1600)
	shares := join(budget.Part(), 2)
	other := join(budget.Part(), 1)
	fill(other)
	fill(shares)
	for range 20 {
		shares[0].Release(1)
		if shares[0].Full() || shares[0].Roomy() {
			t.Fatal("full, or roomy again at once: reading would start and stop with every record")
		}
	}
	shares[0].Release(90)
	if !shares[0].Roomy() {
		t.Errorf("not roomy with %d of 400 held by both", heldBy(shares))
	}
}

func TestBudgetForgetsAShareThatLeft(t *testing.T) {
	part := NewBudget(100).Part()
	left, stays := part.Join(), part.Join()
	left.Add(80)
	left.Leave()
	left.Add(5)
	left.Release(7)
	left.Leave()
	if n, common := part.budget.Total(), part.budget.common.Load(); n != 0 || common != 0 || left.Held() != 0 {
		t.Errorf("a share that left counts: total %d, beyond reserves %d", n, common)
	}
	fill([]*Share{stays})
	if n := stays.Held(); n != 50+25 {
		t.Errorf("holds %d when it is full, want the reserve and the common quarter", n)
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

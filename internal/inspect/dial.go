package inspect

import (
	"context"
	"errors"
	"time"
)

// dialsAbreast is how many connections are opened at a time: silent addresses must
// not take the turn of those that answer.
const dialsAbreast = 64

// errNoTurn is of an address that says nothing about itself: others took all the
// time there is.
var errNoTurn = errors.New("not looked at: too many other addresses gave no answer")

// dialAll calls dial with the numbers below n, many at a time, and returns what came
// of each. A dial has the whole patience from its own beginning; none begins after
// the patience has run out once.
func dialAll(ctx context.Context, n int, dial func(ctx context.Context, i int) error) []error {
	began := time.Now()
	errs := make([]error, n)
	each(n, dialsAbreast, func(i int) {
		if ctx.Err() != nil || time.Since(began) >= patience {
			errs[i] = errNoTurn
			return
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		errs[i] = dial(ctx, i)
	})
	return errs
}

//go:build race

package harness

// raceDetector says whether the tests run with -race; the daemon is then built
// with it as well.
const raceDetector = true

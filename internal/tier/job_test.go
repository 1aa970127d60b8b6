package tier

import (
	"testing"
	"unsafe"
)

func TestJobIsNoLargerThanWhatIsAllocatedCheaply(t *testing.T) {
	if size := unsafe.Sizeof(job{}); size > 512 {
		t.Errorf("%d bytes, want 512 at most: there is one for each record", size)
	}
}

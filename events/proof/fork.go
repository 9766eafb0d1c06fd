package proof

// A log that was restored from an older backup and then written on is told from one in which events
// were altered: what follows the first difference is new, and nothing of it was in the log before.

import (
	"golang.org/x/mod/sumdb/tlog"
)

// forkWindow is how many events after the first difference are compared. Where an event was
// changed, removed or inserted, those that follow it are the same, at most shifted by some places.
const forkWindow = 4096

// fork collects what log and stored tree have from their first difference on.
type fork struct {
	agreed *Place             // the last event before the difference; nil: none
	log    map[tlog.Hash]bool // the first leaves of the log
	stored []tlog.Hash        // the first leaves of the stored tree
}

func (f *fork) addLog(hash tlog.Hash) {
	if len(f.log) < forkWindow {
		f.log[hash] = true
	}
}

func (f *fork) addStored(hash tlog.Hash) {
	if len(f.stored) < forkWindow {
		f.stored = append(f.stored, hash)
	}
}

// is reports whether log and tree have no event in common after the difference. Where one event
// differs from one other, nothing tells, and it is not.
func (f *fork) is() bool {
	for _, hash := range f.stored {
		if f.log[hash] {
			return false
		}
	}
	return len(f.log) > 0 && len(f.stored) > 0 && len(f.log)+len(f.stored) > 2
}

package proof

// A log forks if it is restored from an older backup and then written to. After the first
// difference, a fork has no event of the stored tree, while an altered log still has some.

import (
	"golang.org/x/mod/sumdb/tlog"
)

// forkWindow is how many events after the first difference are compared. If an event was changed,
// removed or inserted, the later events stay the same, at most shifted by some places.
const forkWindow = 4096

// fork collects the leaves of log and stored tree from their first difference on.
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

// is reports whether log and tree have no event in common after the difference. It returns false if
// each has only one event there, because that may be a fork or an alteration.
func (f *fork) is() bool {
	for _, hash := range f.stored {
		if f.log[hash] {
			return false
		}
	}
	return len(f.log) > 0 && len(f.stored) > 0 && len(f.log)+len(f.stored) > 2
}

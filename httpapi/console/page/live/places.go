package live

// This file bounds the pages that are watched.

import (
	"sync"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

// The most pages that are watched at the same time. They are bounded because each repeats the calls
// of its page every few seconds. The smaller bounds keep one session, person, key or account from
// using up the bound of the node.
const (
	maxWatched   = 64 // on this node
	maxOfAccount = 32
	maxOfCaller  = 16
	maxOfSession = 8
)

// place is a bound of how many pages are watched. of names the session, person, key or account
// whose pages it bounds. If of is empty, it bounds all pages of the node.
type place struct {
	most int
	of   string
}

// places counts the pages that are watched. It is safe for concurrent use.
type places struct {
	mu    sync.Mutex
	taken map[place]int
}

// placesOf returns the bounds that count a page of a session: of the node, and of the session, the
// person or key, and the account, if there are any.
func placesOf(s *contract.CurrentSession) []place {
	all := []place{{maxWatched, ""}}
	if s == nil {
		return all
	}
	all = append(all, place{maxOfSession, s.ID})
	if s.User != nil && *s.User != "" {
		all = append(all, place{maxOfCaller, "person " + *s.User})
	}
	if s.Account != nil {
		all = append(all, place{maxOfAccount, *s.Account})
		if s.Key != nil {
			all = append(all, place{maxOfCaller, "key " + *s.Key + " of " + *s.Account})
		}
	}
	return all
}

// join counts a page that a session watches in each of its bounds, and returns these bounds. It
// refuses the page if a bound is reached. Otherwise, when the page is no longer watched, the caller
// MUST call leave with the bounds.
func (p *places) join(s *contract.CurrentSession) ([]place, error) {
	all := placesOf(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range all {
		if p.taken[at] == at.most {
			return nil, errTooManyWatched
		}
	}
	for _, at := range all {
		p.taken[at]++
	}
	return all, nil
}

// leave ends the count of a page in the bounds that join has returned.
func (p *places) leave(all []place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range all {
		if p.taken[at]--; p.taken[at] == 0 {
			delete(p.taken, at)
		}
	}
}

var errTooManyWatched = apierror.TooMany(
	"Too many pages are watched: close one, or reload the page for what is new", 30*time.Second,
)

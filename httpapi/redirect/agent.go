package redirect

import (
	"fmt"
	"strings"

	"github.com/maypok86/otter/v2"

	"linkledger/httpapi/peer"
)

const (
	// agentsMemory bounds the cache of parsed headers, in bytes.
	agentsMemory  = 4 << 20
	agentOverhead = 200 // bytes of a cache entry besides its key
)

// agents caches parsed User-Agent headers, because parsing one takes longer than the rest of a
// redirect.
type agents struct {
	cache *otter.Cache[string, *peer.Agent]
}

func newAgents() (agents, error) {
	cache, err := otter.New(&otter.Options[string, *peer.Agent]{
		MaximumWeight: agentsMemory,
		Weigher: func(header string, _ *peer.Agent) uint32 {
			return uint32(agentOverhead + len(header)) //nolint:gosec // at most peer.MaxUserAgent
		},
	})
	if err != nil {
		return agents{}, fmt.Errorf("cache of user agents: %w", err)
	}
	return agents{cache}, nil
}

func (a agents) read(header string) *peer.Agent {
	if len(header) > peer.MaxUserAgent {
		header = header[:peer.MaxUserAgent]
	}
	if known, ok := a.cache.GetIfPresent(header); ok {
		return known
	}
	read := peer.ReadAgent(header)
	a.cache.Set(strings.Clone(header), &read)
	return &read
}

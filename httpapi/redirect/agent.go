package redirect

import (
	"fmt"
	"strings"

	"github.com/maypok86/otter/v2"

	"linkledger/httpapi/agent"
	"linkledger/robots"
)

const (
	// agentsMemory bounds the cache of parsed headers, in bytes.
	agentsMemory  = 4 << 20
	agentOverhead = 250 // bytes of a cache entry besides its key
)

// agents caches the agents of User-Agent headers, because reading a header takes longer than the
// rest of a redirect.
type agents struct {
	list  *agent.List
	cache *otter.Cache[string, *judged]
}

// judged is an agent as a table judges it.
type judged struct {
	agent.Agent
	by *robots.Table
}

func newAgents(list *agent.List) (agents, error) {
	cache, err := otter.New(&otter.Options[string, *judged]{
		MaximumWeight: agentsMemory,
		Weigher: func(header string, _ *judged) uint32 {
			return uint32(agentOverhead + len(header)) //nolint:gosec // at most agent.MaxLength
		},
	})
	if err != nil {
		return agents{}, fmt.Errorf("cache of user agents: %w", err)
	}
	return agents{list, cache}, nil
}

// read returns the agent of a header by the table that is in use. It ignores cache entries that a
// former table made.
func (a agents) read(header string) agent.Agent {
	header = header[:min(len(header), agent.MaxLength)]
	table := a.list.Table()
	if known, ok := a.cache.GetIfPresent(header); ok && known.by == table {
		return known.Agent
	}
	read := &judged{agent.Read(table, header), table}
	a.cache.Set(strings.Clone(header), read)
	return read.Agent
}

package app

import (
	"net/netip"

	"linkledger/commands/countries"
	"linkledger/httpapi/agent"
	"linkledger/internal/config"
	"linkledger/internal/usage"
)

// openVisitorFiles opens the file of words that tell robots from people, and the file of the
// countries of addresses. It returns the function that finds the country of an address, or nil if
// no file of countries is given or the process does not redirect.
func (s *Service) openVisitorFiles() (country func(netip.Addr) string, err error) {
	s.agents = agent.NewList()
	if s.cfg.Agents != "" {
		if s.agents, err = agent.ReadList(s.cfg.Agents, s.logger); err != nil {
			return nil, usage.Errorf(
				"%w; mend it, or name another file with --agents (%s)", err, usage.Env("agents"),
			)
		}
	}
	if !s.has(config.RoleRedirect) || s.cfg.Countries == "" {
		return nil, nil //nolint:nilnil // the redirects take nil for none
	}
	if s.countries, err = countries.Read(s.cfg.Countries, s.logger); err != nil {
		return nil, usage.Errorf(
			"%w; name another file with --countries (%s)", err, usage.Env("countries"),
		)
	}
	return s.countries.Of, nil
}

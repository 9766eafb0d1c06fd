package maintenance

import (
	"slices"
	"strings"

	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/robots"
)

// ReadWords returns the words by which a rebuild judges clicks anew: those of the program with the
// changes of a file, or those of the program alone, or nil if neither is chosen.
func ReadWords(file string, builtIn bool) (*robots.Table, error) {
	switch {
	case file != "" && builtIn:
		return nil, usage.Errorf("give --agents or --built-in-agents, not both")
	case builtIn:
		return robots.BuiltIn(), nil
	case file == "":
		return nil, nil //nolint:nilnil // no words is a value
	}
	words, err := robots.ReadFile(file)
	if err != nil {
		return nil, usage.Errorf("--agents: %w", err)
	}
	return words, nil
}

// Judging returns the projections that are built when clicks are judged anew, of which a user may
// have named one.
func Judging(name string) ([]string, error) {
	judging := projections.Judging()
	if name != "" && !slices.Contains(judging, name) {
		return nil, usage.Errorf("%s counts no clicks: leave it out. --agents and "+
			"--built-in-agents build %s together", name, strings.Join(judging, " and "))
	}
	return judging, nil
}

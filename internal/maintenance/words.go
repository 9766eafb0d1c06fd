package maintenance

import (
	"slices"
	"strings"

	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/robots"
)

// ReadWords returns the words that tell robots from people, for a rebuild that judges clicks anew.
// If file is given, these are the words of the program with the changes of the file. If builtIn is
// set, these are only the words of the program. If neither is chosen, ReadWords returns nil.
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

// Judging returns the projections that are built together when clicks are judged anew. It returns
// an error if name is neither empty nor one of them.
func Judging(name string) ([]string, error) {
	judging := projections.Judging()
	if name != "" && !slices.Contains(judging, name) {
		return nil, usage.Errorf("%s counts no clicks: leave it out. --agents and "+
			"--built-in-agents build %s together", name, strings.Join(judging, " and "))
	}
	return judging, nil
}

package config

// This file refuses environment variables that no command knows, because a misspelled variable
// would be ignored silently.

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"linkledger/internal/usage"
)

// ofServices are the variables that Docker and Kubernetes set in containers for a service whose
// name is linkledger or begins with linkledger.
var ofServices = regexp.MustCompile(
	`^LINKLEDGER_(([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|` +
		`PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)|NAME|ENV_.+)$`,
)

// CheckVariables returns an error if a variable of environ begins with LINKLEDGER_ and belongs to
// no command of the program. The error suggests a similar variable if there is one. environ has the
// form of os.Environ.
func CheckVariables(program *kong.Application, environ []string) error {
	prefix := usage.Env("")
	known := make(map[string]bool)
	for _, command := range append(program.Leaves(false), program.Node) {
		for _, flags := range command.AllFlags(false) {
			for _, flag := range flags {
				known[usage.Env(flag.Name)] = true
				known[usage.Env(flag.Name)+fileSuffix] = true
			}
		}
	}
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, prefix) || known[name] || ofServices.MatchString(name) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			return usage.Errorf("%s is no variable of linkledger: is %s meant?", name, meant)
		}
		return usage.Errorf("%s is no variable of linkledger: remove it, or correct its name "+
			"(linkledger --help lists the flags)", name)
	}
	return nil
}

// nearest returns the known name that differs least from name. It returns "" if each known name
// differs in more than two letters and in more than a third of the letters after the prefix.
func nearest(name string, known map[string]bool) string {
	best, least := "", len(name)
	for _, candidate := range slices.Sorted(maps.Keys(known)) {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	if least > max(2, (len(name)-len(usage.Env("")))/3) {
		return ""
	}
	return best
}

// distance returns how many letters must be inserted, removed, replaced or exchanged with their
// neighbor to turn one text into the other.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

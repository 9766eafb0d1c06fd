package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"

	"github.com/alecthomas/kong"

	"linkledger/internal/usage"
	"linkledger/typed"
)

// fileSuffix ends the name of a variable that names the file with the value.
const fileSuffix = "_FILE"

// Environment returns a resolver that takes the value of a flag from its environment variable, or
// from the file that the variable with the suffix _FILE names. So secrets can be mounted as files.
// The environment cannot set a flag with the tag noenv.
func Environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Tag.Has("noenv") {
			return nil, nil // kong reads nil as "not set"
		}
		name := usage.Env(flag.Name)
		value := getenv(name)
		if file := getenv(name + fileSuffix); value == "" && file != "" {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s_FILE: cannot read the file: %w", name, withoutPath(err))
			}
			value = typed.Trim(string(content))
		}
		if value == "" {
			return nil, nil // kong reads nil as "not set"
		}
		if flag.Target.Kind() == reflect.Bool {
			return value == "true" || value == "1", nil
		}
		return value, nil
	})
}

// withoutPath returns an error without the path of its file. By mistake users give a secret where
// its path belongs, and errors are printed.
func withoutPath(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

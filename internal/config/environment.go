package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"linkledger/internal/usage"
)

// Environment gives flags their values from the environment, or from the files that it names: so a
// secret can be mounted.
func Environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := usage.Env(flag.Name)
		value := getenv(name)
		if file := getenv(name + "_FILE"); value == "" && file != "" {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s_FILE: cannot read the file: %w", name, withoutPath(err))
			}
			value = strings.TrimSpace(string(content))
		}
		if value == "" {
			return nil, nil //nolint:nilnil // kong's way to say: not set
		}
		if flag.Target.Kind() == reflect.Bool {
			return value == "true" || value == "1", nil
		}
		return value, nil
	})
}

// withoutPath is an error of a file without its name: in the place of one, the secret itself is
// given easily.
func withoutPath(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

package config_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"linkledger/internal/config"
)

// program has flags of the service, and another command.
type program struct {
	Serve flags `cmd:""`
	Store struct {
		User         string
		UnsafeNoSync bool
	} `cmd:""`
}

func parser(t *testing.T, program any, options ...kong.Option) *kong.Kong {
	t.Helper()
	built, err := kong.New(program, append(options, config.Placeholders, config.HelpTexts{"signing_key": "k"}.Option())...)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TestUnknownVariables checks variables that no command knows, variables of another command, and variables of other
// programs.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"LINKLEDGER_LISTNE":            "is LINKLEDGER_LISTEN meant?",
		"LINKLEDGER_MASTER_KEYS":       "is LINKLEDGER_MASTER_KEY meant?",
		"LINKLEDGER_MASTERKEY_FILE":    "is LINKLEDGER_MASTER_KEY_FILE meant?",
		"LINKLEDGER_DATABASE_FIEL":     "is LINKLEDGER_DATABASE_FILE meant?",
		"LINKLEDGER_ADMINLISTEN":       "is LINKLEDGER_ADMIN_LISTEN meant?",
		"LINKLEDGER_OIDC_CLINET_SECRT": "is LINKLEDGER_OIDC_CLIENT_SECRET meant?",
		"LINKLEDGER_SOMETHING_ELSE":    "is no variable of linkledger: remove it",
		"LINKLEDGER_":                  "is no variable of linkledger",

		"LINKLEDGER_UNSAFE_NO_SYNC":              "", // of another command
		"LINKLEDGER_USER":                        "",
		"LINKLEDGER_PORT":                        "", // of Kubernetes and Docker
		"LINKLEDGER_SERVICE_HOST":                "",
		"LINKLEDGER_SERVICE_PORT":                "",
		"LINKLEDGER_SERVICE_PORT_HTTP":           "",
		"LINKLEDGER_PORT_8080_TCP":               "",
		"LINKLEDGER_PORT_8080_TCP_ADDR":          "",
		"LINKLEDGER_ADMIN_PORT_8081_TCP_PROTO":   "",
		"LINKLEDGER_EVENTSTORE_SERVICE_HOST":     "",
		"LINKLEDGERS_LISTEN":                     "", // of another program
		"OTHER_LINKLEDGER_LISTEN":                "",
		"linkledger_listen":                      "",
		"LINKLEDGER_ADMIN_SERVICE_PORT_OPS_HTTP": "",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			err := config.CheckVariables(parser(t, &program{}).Model, []string{"HOME=/", variable + "=value"})
			switch {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), want)):
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
}

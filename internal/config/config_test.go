package config_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/internal/config"
	"linkledger/internal/usage"
	"linkledger/projections/keystore/keyfile"
)

// flags are all flags of a service.
type flags struct {
	config.Serving
	config.Redirecting
	config.Projecting
	config.Backends
	config.BackingUp
	CORSOrigins config.Origins `help:"${cors}" validate:"origins"`
	Roles       []config.Role  `default:"api" validate:"roles"`
	Forced      bool           `noenv:""`
}

// given returns the flags that a command line and an environment give.
func given(t *testing.T, environment map[string]string, args ...string) (got flags, err error) {
	t.Helper()
	environ := func(name string) string { return environment[name] }
	_, err = parser(t, &got, kong.Resolvers(config.Environment(environ))).Parse(args)
	return got, err
}

var (
	key   = base64.StdEncoding.EncodeToString(make([]byte, keyfile.MasterKeySize))
	other = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", keyfile.MasterKeySize)))
)

// TestFlags checks the rule of each flag, at its ends.
func TestFlags(t *testing.T) {
	t.Parallel()
	for flag, values := range map[string]struct{ valid, invalid []string }{
		"listen":             {[]string{":0", "[::1]:65535"}, []string{"", "host", ":65536", ":http"}},
		"admin-listen":       {[]string{":1"}, []string{"host"}},
		"log-requests":       {[]string{"none", "api", "all"}, []string{"some"}},
		"drain-delay":        {[]string{"0s", "10m"}, []string{"-1s", "10m1s"}},
		"base-url":           {[]string{"", "https://sho.rt/", "http://h:1"}, []string{"sho.rt", "ftp://h", "https://h/x", "https://", "https://u@h"}},
		"replace-database":   {[]string{"0", "7"}, []string{"-1"}},
		"eventstore":         {[]string{"esdb://h?tls=false"}, []string{"http://h", "esdb://u:p@/@h"}},
		"database":           {[]string{"postgres://h/d", "postgresql://h"}, []string{"mysql://h", "postgres://u:p@/@h"}},
		"master-key":         {[]string{"", key}, []string{"x", key[4:]}},
		"former-master-key":  {[]string{other}, []string{"x"}},
		"cache-size":         {[]string{"1", "65536"}, []string{"0", "65537"}},
		"spool-size":         {[]string{"1", "1048576"}, []string{"0", "1048577"}},
		"click-patience":     {[]string{"1ms", "5s"}, []string{"999us", "5001ms"}},
		"visitor-key":        {[]string{"a", strings.Repeat("Z", 64), "9._-"}, []string{"", "a b", strings.Repeat("Z", 65)}},
		"former-visitor-key": {[]string{"", "old"}, []string{"visitor", "a b"}},
		"ready-max-lag":      {[]string{"1s"}, []string{"999ms"}},
		"wait-timeout":       {[]string{"1ms", "8s"}, []string{"999us", "8001ms"}},
		"backup-every":       {[]string{"0s", "8760h"}, []string{"-1s", "8761h"}},
		"backup-keep":        {[]string{"1", "100000"}, []string{"0", "100001"}},
		"oidc-issuer":        {[]string{"https://id.example"}, []string{"http://id.example", "https://u@id.example"}},
		"cors-origins":       {[]string{"", "*", "https://a.example, http://localhost:3000"}, []string{"*,https://a.example", "https://a.example/"}},
		"roles":              {[]string{"api,redirect,projector"}, []string{"api,none", ""}},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			check := func(value string) error {
				got, err := given(t, nil, "--oidc-client-id=c", "--"+flag+"="+value)
				if err != nil {
					t.Fatal(err)
				}
				return config.Validate(&got)
			}
			for _, value := range values.valid {
				if err := check(value); err != nil {
					t.Errorf("%q: %v", value, err)
				}
			}
			for _, value := range values.invalid {
				err := check(value)
				if !usage.Is(err) || !strings.Contains(err.Error(), "--"+flag+" ("+usage.Env(flag)+"): ") ||
					strings.HasSuffix(err.Error(), ": ") {
					t.Errorf("%q: %v", value, err)
				}
			}
		})
	}
}

// TestFlagsTogether checks the rules of two flags.
func TestFlagsTogether(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ args, wrong string }{
		"an issuer without a client": {"--oidc-issuer=https://id.example", "--oidc-client-id"},
		"the same master key":        {"--master-key=" + key + " --former-master-key=" + key, "--former-master-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := given(t, nil, strings.Fields(test.args)...)
			if err != nil {
				t.Fatal(err)
			}
			if err := config.Validate(&got); !usage.Is(err) || !strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), key) {
				t.Error(err)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "listen")
	if err := os.WriteFile(file, []byte(":3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environment map[string]string
		args        []string
		listen      string
	}{
		"default":           {nil, nil, "127.0.0.1:8080"},
		"variable":          {map[string]string{"LINKLEDGER_LISTEN": ":2"}, nil, ":2"},
		"file":              {map[string]string{"LINKLEDGER_LISTEN_FILE": file}, nil, ":3"},
		"variable and file": {map[string]string{"LINKLEDGER_LISTEN": ":2", "LINKLEDGER_LISTEN_FILE": file}, nil, ":2"},
		"flag":              {map[string]string{"LINKLEDGER_LISTEN": ":2"}, []string{"--listen=:1"}, ":1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := given(t, test.environment, test.args...); err != nil || got.Listen != test.listen {
				t.Errorf("%q, %v", got.Listen, err)
			}
		})
	}
	got, err := given(t, map[string]string{"LINKLEDGER_TRACES": "1", "LINKLEDGER_PROFILING": "no", "LINKLEDGER_FORCED": "true"})
	if err != nil || !got.Traces || got.Profiling || got.Forced {
		t.Errorf("switches: %v %v %v, %v", got.Traces, got.Profiling, got.Forced, err)
	}
	_, err = given(t, map[string]string{"LINKLEDGER_MASTER_KEY_FILE": "hunter2"})
	if err == nil || !strings.Contains(err.Error(), "LINKLEDGER_MASTER_KEY_FILE") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in place of its file: %v", err)
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	var plans config.Plans
	const text = "free:urls=1,day-calls=2; pro:month-urls=3;"
	if err := plans.UnmarshalText([]byte(text)); err != nil || plans.String() != text || len(plans.ByName) != 2 ||
		plans.ByName["free"] != (domain.Plan{URLs: 1, DayCalls: 2}) || plans.ByName["pro"] != (domain.Plan{MonthURLs: 3}) {
		t.Errorf("%+v, %v", plans, err)
	}
	for _, wrong := range []string{
		"free", ":urls=1", "a b:urls=1", "a:urls=1;a:urls=2", "a:links=1", "a:urls=0", "a:urls=x", "a:urls=1,urls=2", "a:",
	} {
		if err := plans.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	got, err := given(t, nil, "--oidc-issuer=https://id.example", "--oidc-client-id=c", "--oidc-client-secret=s",
		"--oidc-scopes=a,b", "--oidc-groups=ops=operator")
	public := got.Public()
	if err != nil || public.Issuer != "https://id.example" || public.ClientID != "c" || public.ClientSecret != "s" ||
		!slices.Equal(public.Scopes, []string{"a", "b"}) || public.GroupsClaim != "groups" ||
		len(public.Groups) != 1 || got.OIDCGroups.String() != "ops=operator" {
		t.Errorf("%+v, %v", public, err)
	}
	if (config.SignIn{}).Public() != nil {
		t.Error("without an issuer somebody can sign in")
	}
	if _, err := given(t, nil, "--oidc-groups=ops"); err == nil {
		t.Error("a group without a role is accepted")
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config.Sealing
		keys, fails bool
	}{
		"none":    {},
		"one":     {config.Sealing{MasterKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, true, false},
		"no text": {config.Sealing{MasterKey: "*"}, false, true},
		"short":   {config.Sealing{FormerMasterKey: "AAAA"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if keys, err := test.Keys(); (keys != nil) != test.keys || (err != nil) != test.fails {
				t.Errorf("%v, %v", keys, err)
			}
		})
	}
}

func TestExplainKey(t *testing.T) {
	t.Parallel()
	for _, about := range []error{
		keyfile.ErrNoMasterKey, keyfile.ErrOtherMasterKey, accounts.ErrNothingSealed, people.ErrNotSealed,
	} {
		if err := config.ExplainKey(about); !usage.Is(err) || !errors.Is(err, about) || !strings.Contains(err.Error(), "--master-key") {
			t.Error(err)
		}
	}
	if err := config.ExplainKey(os.ErrClosed); !errors.Is(err, os.ErrClosed) || usage.Is(err) {
		t.Error(err)
	}
}

func TestSpoolByDefault(t *testing.T) {
	t.Parallel()
	if got := (config.Redirecting{}).WithSpool("a").WithSpool("b").Spool; got != "a" {
		t.Error(got)
	}
}

func TestHelpTexts(t *testing.T) {
	t.Parallel()
	for _, flag := range parser(t, &flags{}).Model.Flags {
		if strings.Contains(flag.Help, "${") {
			t.Errorf("--%s: %s", flag.Name, flag.Help)
		}
	}
	var unknown struct {
		Flag string `help:"${nowhere}"`
	}
	if _, err := kong.New(&unknown, config.HelpTexts{}.Option()); err == nil {
		t.Error("a text that does not exist is accepted")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkledger/events/eventstore/eventstoretest"
)

// runWith runs the program within the test, in the given environment only.
func runWith(t *testing.T, environment map[string]string, args ...string) (output string, err error) {
	t.Helper()
	var out bytes.Buffer
	var environ []string
	for name, value := range environment {
		environ = append(environ, name+"="+value)
	}
	err = run(t.Context(), args, environ, &out, &out)
	return out.String(), err
}

func TestConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "database")
	if err := os.WriteFile(file, []byte("\ufeff\u00a0postgres://file:hunter2@db/links\u200b\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const complete = "postgres://ada:hunter2@db/links"
	tests := map[string]struct {
		args        []string
		environment map[string]string
		want        []string // parts of lines, tabs between columns
		wrong       string   // part of the error
	}{
		"defaults": {
			want: []string{
				"--listen\tLINKLEDGER_LISTEN\t127.0.0.1:8080\tdefault",
				"--roles\tLINKLEDGER_ROLES\tapi,redirect,projector\tdefault",
			},
			wrong: "no event store",
		},
		"flags go before the environment": {
			args: []string{
				"--listen=:80", "--eventstore=esdb://admin:hunter2@es:2113?tls=true", "--database=" + complete,
			},
			environment: map[string]string{
				"LINKLEDGER_LISTEN": ":90", "LINKLEDGER_CACHE_SIZE": "64", "LINKLEDGER_PROFILING": "true",
			},
			want: []string{
				"\t:80\tflag", "\t64\tenvironment", "--profiling\tLINKLEDGER_PROFILING\ttrue\tenvironment",
				"\tesdb://admin:xxxxx@es:2113?tls=true\tflag", "\tpostgres://ada:xxxxx@db/links\tflag",
			},
		},
		"from a file": {
			args:        []string{"serve", "--eventstore=esdb://es"},
			environment: map[string]string{"LINKLEDGER_DATABASE_FILE": file},
			want:        []string{"--database\tLINKLEDGER_DATABASE\tpostgres://file:xxxxx@db/links\tenvironment"},
		},
		"no such file": {
			environment: map[string]string{"LINKLEDGER_DATABASE_FILE": "/nowhere"}, wrong: "LINKLEDGER_DATABASE_FILE",
		},
		"passwords in the query": {
			args: []string{
				"--eventstore=esdb://es",
				"--database=postgres://db/links?user=ada&password=hunter2&sslpassword=hunter2&sslmode=verify-full",
			},
			want: []string{"password=xxxxx&sslpassword=xxxxx&sslmode=verify-full"},
		},
		"an odd password": {
			args: []string{"--eventstore=esdb://es", "--database=postgres://ada:hunter2@/@hunter2@db/links"},
			want: []string{"postgres://xxxxx"}, wrong: "%XX",
		},
		"no host": {
			args: []string{"--eventstore=esdb://ada:hunter2", "--database=postgres://db/links?pass%77ord=hunter2"},
			want: []string{"esdb://xxxxx\t", "postgres://db/links?password=xxxxx\t"},
		},
		"a file that isn't": {
			environment: map[string]string{"LINKLEDGER_DATABASE_FILE": complete}, wrong: "LINKLEDGER_DATABASE_FILE",
		},
		"a bare argument": {args: []string{"serve", complete}, wrong: "postgres://ada:xxxxx@db/links"},
		"a misspelt flag": {args: []string{"--databse=" + complete}, wrong: "--databse"},
		"two settings": {
			args:  []string{"--eventstore=esdb://es", "--database=host=db password=hunter2"},
			wrong: "host=db password=xxxxx",
		},
		"a level":       {args: []string{"--log-level=" + complete}, wrong: "--log-level"},
		"a network":     {args: []string{"--trusted-proxies=" + complete}, wrong: "--trusted-proxies"},
		"a number":      {args: []string{"--cache-size=" + complete}, wrong: "--cache-size"},
		"a number, env": {environment: map[string]string{"LINKLEDGER_CACHE_SIZE": complete}, wrong: "--cache-size"},
		"a role": {
			args:  []string{"--eventstore=esdb://es", "--database=" + complete, "--roles=" + complete},
			wrong: "--roles (LINKLEDGER_ROLES)",
		},
		"origins": {
			args: []string{
				"--eventstore=esdb://es", "--database=" + complete,
				"--cors-origins=https://a.example, http://localhost:3000",
			},
			want: []string{"--cors-origins\tLINKLEDGER_CORS_ORIGINS\thttps://a.example, http://localhost:3000\tflag"},
		},
		"origins of dev": {
			args: []string{"dev"}, want: []string{"--cors-origins\tLINKLEDGER_CORS_ORIGINS\t*\tdefault"},
		},
		"no origins of dev": {
			args: []string{"dev", "--cors-origins="}, want: []string{"--cors-origins\tLINKLEDGER_CORS_ORIGINS\t\tflag"},
		},
		"no origins": {
			args: []string{"--eventstore=esdb://es", "--database=" + complete},
			want: []string{"--cors-origins\tLINKLEDGER_CORS_ORIGINS\t\tdefault"},
		},
		"an origin": {
			args:  []string{"--eventstore=esdb://es", "--database=" + complete, "--cors-origins=" + complete},
			wrong: "--cors-origins",
		},
		"origins beside all": {
			args:  []string{"--eventstore=esdb://es", "--database=" + complete, "--cors-origins=*,https://a.example"},
			wrong: "--cors-origins",
		},
		"a base URL": {
			args:  []string{"--eventstore=esdb://es", "--database=" + complete, "--base-url=" + complete},
			wrong: "--base-url",
		},
		"wrong database": {
			args:  []string{"--eventstore=esdb://es", "--database=mysql://ada:hunter2@db"},
			wrong: "mysql://ada:xxxxx@db",
		},
		"wrong event store": {
			args:  []string{"--eventstore=kafka://ada:hunter2@es", "--database=" + complete},
			wrong: "kafka://ada:xxxxx@es",
		},
		"value out of range": {
			args:  []string{"--eventstore=esdb://es", "--database=" + complete, "--drain-delay=1h"},
			wrong: "--drain-delay",
		},
		"unknown flag": {args: []string{"--hunter"}, wrong: "unknown flag --hunter"},
		"log format":   {args: []string{"--log-format=xml"}, wrong: "--log-format"},
		"another command": {
			args: []string{"dev", "--data=/srv", "--plans=free:urls=5"},
			want: []string{"--data\tLINKLEDGER_DATA\t/srv\tflag", "\tfree:urls=5\tflag"},
		},
		"event store": {
			args:  []string{"eventstore", "--user=linker", "--password=hunter2"},
			want:  []string{"--password\tLINKLEDGER_PASSWORD\txxxxx\tflag", "--user\tLINKLEDGER_USER\tlinker\tflag"},
			wrong: "needs --tls-certificate",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := runWith(t, test.environment, append([]string{"config"}, test.args...)...)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			switch {
			case test.wrong == "" && err != nil:
				t.Error(err)
			case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong) ||
				exitCode(err) != exitUsage):
				t.Errorf("the error is %v, want %q", err, test.wrong)
			}
			wantNoSecret(t, out, err)
		})
	}
}

func wantNoSecret(t *testing.T, out string, err error) {
	t.Helper()
	if err != nil {
		out += err.Error()
	}
	if strings.Contains(out, "hunter2") {
		t.Errorf("a password was printed:\n%s", out)
	}
}

// TestNoSecretIsPrinted checks that no error about a connection string, or about a store that it
// names, contains the password.
func TestNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	listener := eventstoretest.Listen(t)
	nobody := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	database := "postgres://ada:hunter2@" + nobody + "/links?sslmode=disable"
	for name, args := range map[string][]string{
		"no such port": {
			"serve", "--eventstore=esdb://ada:hunter2@es:port?tls=true", "--database=" + database,
		},
		"no such setting": {
			"serve", "--eventstore=esdb://ada:hunter2@es:2113?tls=maybe", "--database=" + database,
		},
		"no such ssl mode": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:hunter2@db/links?sslmode=maybe",
		},
		"odd escapes": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:hunter2%zz@db/links",
		},
		"no host":     {"serve", "--eventstore=esdb://ada:hunter2", "--database=" + database},
		"odd host":    {"serve", "--eventstore=esdb://ada:x@hunter2:a:b", "--database=" + database},
		"an odd path": {"serve", "--eventstore=esdb://es/hunter2", "--database=" + database},
		"no preference": {
			"serve", "--eventstore=esdb://es?nodePreference=hunter2", "--database=" + database,
		},
		"no database host": {"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:hunter2"},
		"no encoding": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:1/hunter2@db/links",
		},
		"within the query": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:1?hunter2@db/links",
		},
		"a number of the event store": {
			"serve", "--eventstore=esdb://ada:1/hunter2@es:2113", "--database=" + database,
		},
		"a setting of the event store": {
			"serve", "--eventstore=esdb://ada:1?hunter2@es:2113", "--database=" + database,
		},
		"encoded key": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://db/links?pass%77ord=hunter2&sslmode=maybe",
		},
		"too many ports": {
			"serve", "--eventstore=esdb://es:2113", "--database=postgres://ada:hunter2@db/links?port=1,2,3",
		},
		"copy": {"eventstore", "copy", "--from=esdb://ada:hunter2", "--to=esdb://ada:hunter2@es"},
		"nobody listens": {
			"projections", "list", "--eventstore=esdb://ada:hunter2@" + nobody + "?tls=false", "--database=" + database,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := args
			if args[0] == "serve" {
				args = append(args, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool="+t.TempDir())
			}
			out, err := runWith(t, nil, args...)
			if err == nil || exitCode(err) != exitUsage {
				t.Errorf("the error is %v", err)
			}
			wantNoSecret(t, out, err)
		})
	}
}

// TestUnknownVariables checks that every command looks for unknown variables, and that help does not.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{"LINKLEDGER_LISTNE": "value"}
	for _, args := range [][]string{
		{"config", "eventstore", "serve"}, {"config", "account", "list"}, {"health", "--live", "--admin-listen=127.0.0.1:1"},
	} {
		if _, err := runWith(t, wrong, args...); err == nil || !strings.Contains(err.Error(), "is LINKLEDGER_LISTEN meant?") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := runWith(t, wrong, "--help"); err != nil {
		t.Errorf("help: %v", err)
	}
}

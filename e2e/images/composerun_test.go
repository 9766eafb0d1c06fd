package images_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/jackc/pgx/v5"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
)

// TestComposeConfiguresTheProgram checks that each service that runs the program accepts its
// environment and knows every variable in it.
func TestComposeConfiguresTheProgram(t *testing.T) {
	t.Parallel()
	folder := drawSecrets(t)
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		if len(programs(project, "serve")) == 0 {
			t.Error("no service runs serve")
		}
		for _, command := range []string{"serve", "eventstore"} {
			for name, s := range programs(project, command) {
				if len(s.Command) > 1 || len(s.Entrypoint) > 0 {
					t.Errorf("%s has the command %q, whose flags this test does not check", name, s.Command)
				}
				wantConfigured(t, command, environmentOf(t, s, folder))
			}
		}
	})
}

// environmentOf returns the environment of a service that runs the program, including the image's.
// Paths of secrets point to the folder secrets.
func environmentOf(t *testing.T, s types.ServiceConfig, secrets string) map[string]string {
	t.Helper()
	environment := imageEnvironment(t)
	for name, value := range s.Environment {
		environment[name] = strings.ReplaceAll(*value, "/run/secrets", secrets)
	}
	return environment
}

// wantConfigured checks that a command accepts an environment and knows every variable in it.
func wantConfigured(t *testing.T, command string, environment map[string]string) {
	t.Helper()
	out, err := e2etest.RunWith(t, environment, "config", command)
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	for name := range environment {
		known := command == "serve" && name == "OTEL_EXPORTER_OTLP_ENDPOINT" || command == "eventstore" && ofImage(
			t, name,
		)
		if !known && !strings.Contains(out, "\t"+strings.TrimSuffix(name, "_FILE")+"\t") {
			t.Errorf("%s has no %s", command, name)
		}
	}
}

// ofImage reports whether the image sets a variable. The image sets variables for serve, so other
// commands need not know them.
func ofImage(t *testing.T, name string) bool {
	t.Helper()
	_, ok := imageEnvironment(t)[name]
	return ok
}

// TestComposeRuns checks that the settings of compose.yaml work together. The program runs on this
// machine's addresses with the environment of compose.yaml, the generated secrets, and the users
// that the scripts create.
func TestComposeRuns(t *testing.T) {
	t.Parallel()
	project := loadCompose(t, "compose.yaml")
	secrets := drawSecrets(t)
	data := filepath.Join(secrets, "..", "data")
	if err := os.Mkdir(data, 0o700); err != nil { // the volume
		t.Fatal(err)
	}
	i := &installtest.Installation{
		T: t, Folder: t.TempDir(), StoreAddress: installtest.FreeAddress(t), Base: "http://" + installtest.FreeAddress(t),
		Admin: "http://" + installtest.FreeAddress(t),
	}
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	database := databaseOfService(t, i.Database, secrets)

	store := environmentOf(t, project.Services["eventstore"], secrets)
	store["LINKLEDGER_DATA"], store["LINKLEDGER_LISTEN"] = filepath.Join(data, "events"), i.StoreAddress
	health := installtest.FreeAddress(t)
	store["LINKLEDGER_HEALTH_LISTEN"] = health
	i.Store = installtest.StartChildIn(t, e2etest.Pairs(store), e2etest.Program, project.Services["eventstore"].Command...)
	i.Eventually("the event store lives", func() bool {
		_, _, code := e2etest.Command(t, "health", "--live", "--admin-listen="+health)
		return code == 0
	})

	rewrite := func(name string, change func(string) string) {
		t.Helper()
		if err := os.WriteFile(
			filepath.Join(secrets, name), []byte(change(readSecret(t, secrets, name))), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("eventstore", func(s string) string {
		return strings.NewReplacer("@eventstore:2113", "@"+i.StoreAddress, "/run/secrets", secrets).Replace(s)
	})
	rewrite("database", func(string) string { return database })
	service := environmentOf(t, project.Services["linkledger"], secrets)
	service["LINKLEDGER_LISTEN"], service["LINKLEDGER_ADMIN_LISTEN"] = i.Base[len("http://"):], i.Admin[len("http://"):]
	service["LINKLEDGER_SPOOL"] = filepath.Join(data, "spool")
	i.Service = installtest.StartChildIn(t, e2etest.Pairs(service), e2etest.Program, "serve")
	i.Eventually("the service is ready", func() bool {
		_, _, code := e2etest.Command(t, "health", "--admin-listen="+service["LINKLEDGER_ADMIN_LISTEN"])
		return code == 0
	})

	create := exec.CommandContext(t.Context(), e2etest.Program, "account", "create", "--username", e2etest.DemoUser, "--json")
	create.Env = append(os.Environ(), e2etest.Pairs(service)...)
	out, err := create.Output()
	var account e2etest.OpenedAccount
	if err != nil || json.Unmarshal(out, &account) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i.Key = account.APIKey
	i.Eventually("a link is made", func() bool {
		_, err := e2etest.Call(
			t.Context(), i.Base, i.Key, http.MethodPost, "/urls",
			`{"urls":[{"long_url":"https://example.com/","custom_hash":"one","note":"sealed"}]}`,
		)
		return err == nil
	})
	if redirected, err := e2etest.Visit(t.Context(), i.Base, "one", "visitor"); err != nil || !redirected {
		t.Errorf("redirected: %t, %v", redirected, err)
	}
	wantSealed(t, database)
	if err := e2etest.AppendLink(
		t,
		"esdb://"+i.StoreAddress+"?tls=true&tlsCaFile="+url.QueryEscape(
			filepath.Join(secrets, "eventstore_certificate"),
		),
		time.Second,
	); err == nil {
		t.Error("the event store accepts events without a password")
	}
}

// databaseOfService runs the script that creates the service's database and user, as the PostgreSQL
// image does. It returns the user's connection string.
func databaseOfService(t *testing.T, server *pgserver.Server, secrets string) string {
	t.Helper()
	dsn, err := url.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	as := func(user, database string) string {
		u := *dsn
		u.User, u.Path = url.User(user), "/"+database
		return u.String()
	}
	// In the image these names are not taken.
	execute(t, server.DSN(), "CREATE ROLE postgres SUPERUSER LOGIN")
	execute(t, as("postgres", "postgres"), "DROP DATABASE linkledger", "ALTER ROLE linkledger RENAME TO former")
	script := exec.CommandContext(t.Context(), "bash", filepath.Join(dockerFolder, "postgres", "service.sh"))
	script.Env = append(
		os.Environ(), "SECRETS="+secrets, "POSTGRES_USER=postgres", "POSTGRES_DB=postgres",
		"PGHOST="+dsn.Query().Get("host"),
	)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return as("linkledger", "linkledger")
}

func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
	defer cancel()
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(ctx) }()
	for _, statement := range statements {
		if _, err := db.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// wantSealed checks that the account has a key for its notes, and that the service's user is not a
// superuser.
func wantSealed(t *testing.T, dsn string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	var keys int
	var super bool
	if err := db.QueryRow(
		t.Context(),
		"SELECT (SELECT count(*) FROM linkledger_durable.account_keys), rolsuper FROM pg_roles WHERE rolname = current_user",
	).Scan(&keys, &super); err != nil {
		t.Fatal(err)
	}
	if keys != 1 || super {
		t.Errorf("%d keys of notes, superuser: %t", keys, super)
	}
}

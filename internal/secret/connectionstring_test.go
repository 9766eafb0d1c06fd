package secret

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

func TestConnectionWithoutSecrets(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "",
		// valid connection strings
		"esdb://es:2113?tls=false":                                    "esdb://es:2113?tls=false",
		"esdb://admin:hunter2@es:2113?tls=true&tlsCaFile=%2Fca.crt":   "esdb://admin:xxxxx@es:2113?tls=true&tlsCaFile=%2Fca.crt",
		"esdb+discover://a:hunter2@es.example":                        "esdb+discover://a:xxxxx@es.example",
		"esdb://a:hunter2@n1:2113,n2:2113,n3?tls=true":                "esdb://a:xxxxx@n1:2113,n2:2113,n3?tls=true",
		"esdb://a:hunter2@[::1]:2113,[2001:db8::1]":                   "esdb://a:xxxxx@[::1]:2113,[2001:db8::1]",
		"postgres://ada:hunter2@db:5432/links?sslmode=verify-full":    "postgres://ada:xxxxx@db:5432/links?sslmode=verify-full",
		"postgres://linkledger@/linkledger?host=%2Frun%2Fpg&port=543": "postgres://linkledger@/linkledger?host=%2Frun%2Fpg&port=543",
		"postgres://ada:hunter2@db1:1,db2:2/links":                    "postgres://ada:xxxxx@db1:1,db2:2/links",
		"postgresql:///links?user=ada&passfile=/home/ada/.pgpass":     "postgresql:///links?user=ada&passfile=/home/ada/.pgpass",
		"POSTGRES://ada:hunter2@db/links":                             "POSTGRES://ada:xxxxx@db/links",
		// passwords in the query
		"postgres://db/links?password=hunter2&sslpassword=hunter2":        "postgres://db/links?password=xxxxx&sslpassword=xxxxx",
		"postgres://db/links?pass%77ord=hunter2":                          "postgres://db/links?password=xxxxx",
		"postgres://db/links?PASSWORD=hunter2&%50assword=hunter2":         "postgres://db/links?password=xxxxx&password=xxxxx",
		"postgres://db/links?password=&password=hunter2&sslmode=disable":  "postgres://db/links?password=xxxxx&password=xxxxx&sslmode=disable",
		"postgres://db/links?password=a&hunter2&b=hunter2":                "postgres://db/links?password=xxxxx&xxxxx&xxxxx",
		"postgres://db/links?p%zz=hunter2":                                "postgres://db/links?xxxxx",
		"postgres://db/links?sslmode=disable%26password%3Dhunter2":        "postgres://db/links?sslmode=xxxxx",
		"postgres://db/links?sslmode=disable;password=hunter2":            "postgres://db/links?sslmode=xxxxx",
		"postgres://db/links?passwd=hunter2&token=hunter2&options=-ca=b":  "postgres://db/links?xxxxx&xxxxx&xxxxx",
		"esdb://es?tls=true&Password=hunter2&userCredentials=a%3Ahunter2": "esdb://es?tls=true&password=xxxxx&xxxxx",
		// passwords that are not encoded
		"postgres://ada:hunter2@hunter2@db/links":        "postgres://ada:xxxxx@db/links",
		"postgres://ada:hunter2:hunter2@db/links":        "postgres://ada:xxxxx@db/links",
		"postgres://ada:hunter2/hunter2@db/links":        "postgres://xxxxx",
		"postgres://ada:1/hunter2@db/links":              "postgres://xxxxx",
		"postgres://ada:1?hunter2@db/links":              "postgres://xxxxx",
		"postgres://ada:1?sslmode=hunter2@db/links":      "postgres://xxxxx",
		"postgres://ada:1#hunter2@db/links":              "postgres://xxxxx",
		"postgres://ada:hunter2@/@hunter2@db/links":      "postgres://xxxxx",
		"postgres://ada:hunter2%zz@db/links":             "postgres://xxxxx",
		"postgres://ada:hunter2 hunter2@db/links":        "postgres://xxxxx",
		"postgres://ada:hunter2,hunter2@db/links":        "postgres://ada:xxxxx@db/links",
		"postgres://ada%3Ahunter2@db/links":              "postgres://xxxxx@db/links",
		"postgres://ada:hunter2\n@db/links":              "postgres://xxxxx",
		"postgres://ada:hunter2[@db/links":               "postgres://xxxxx",
		"postgres://db/links/hunter2":                    "postgres://xxxxx",
		"postgres://db/links:hunter2":                    "postgres://xxxxx",
		"postgres://db/links?sslmode=disable#hunter2":    "postgres://xxxxx",
		"postgres://db/links?application_name=hunter2@x": "postgres://xxxxx",
		// without a host, or with an invalid host
		"esdb://a:hunter2":              "esdb://xxxxx",
		"esdb://a:hunter2@":             "esdb://a:xxxxx@",
		"esdb://a:hunter2?tls=true":     "esdb://xxxxx",
		"esdb://a:99999999":             "esdb://xxxxx",
		"esdb://a:b:hunter2":            "esdb://xxxxx",
		"esdb://a:hunter2@es,b:hunter2": "esdb://xxxxx",
		"esdb://a:x@[hunter2]":          "esdb://xxxxx",
		"esdb://a:x@es!hunter2":         "esdb://xxxxx",
		// not URLs
		"esdb:a:hunter2@es":                                 "xxxxx",
		"hunter2":                                           "xxxxx",
		"a:hunter2@es":                                      "xxxxx",
		"://a:hunter2@es":                                   "xxxxx",
		"password=hunter2://a":                              "password=xxxxx",
		"hunter2 x://a:b@es":                                "xxxxx",
		"kafka://ada:hunter2@es":                            "kafka://ada:xxxxx@es",
		"host=db user=ada dbname=links":                     "host=db user=ada dbname=links",
		"host=db password=hunter2":                          "host=db password=xxxxx",
		"password = 'hunt\\'er2 hunter2' host = 'a b'":      "password=xxxxx host='a b'",
		"PASSWORD=hunter2 sslpassword='hunter2' host=db":    "password=xxxxx sslpassword=xxxxx host=db",
		"host=db password=hunt\\ er2 sslmode=disable":       "host=db password=xxxxx sslmode=disable",
		"host=db password=hunter2 hunter2":                  "xxxxx",
		"host=db password='hunter2":                         "xxxxx",
		"host=db password=hunter2'hunter2'":                 "xxxxx",
		"user='ada password=hunter2' host=db":               "user=xxxxx host=db",
		"host=db passfile=/home/ada/.pgpass token=hunter2":  "host=db passfile=/home/ada/.pgpass xxxxx",
		"password=postgres://hunter2 host=db":               "password=xxxxx host=db",
		"host=db password='postgres://a:hunter2@b' user=me": "host=db password=xxxxx user=me",
	} {
		if got := Connection(given).String(); got != want {
			t.Errorf("%q is printed as\n%q, want\n%q", given, got, want)
		}
	}
}

// secretLetters are the letters of passwords. The special characters have a meaning in some connection string.
const secretLetters = `abcXYZ019-._~@/?#:&=%+ '"\,;[]!$*(){}<>|^` + "`\t\né"

// aSecret returns a password with a part that is found wherever it is printed. Around and within
// this part are letters that may confuse a parser.
func aSecret(random *rand.Rand, letters string) string {
	some := func() string {
		var text strings.Builder
		for range random.IntN(6) {
			all := []rune(letters)
			text.WriteRune(all[random.IntN(len(all))])
		}
		return text.String()
	}
	return some() + "hunter2" + some() + "hunter2" + some()
}

// TestNoConnectionPrintsItsSecret checks that no part of a password is printed, with any letters, encoded or not, and
// at any place in the connection string.
func TestNoConnectionPrintsItsSecret(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 50_000 {
		password := aSecret(random, secretLetters)
		var given string
		switch key := pick("password", "PassWord", "sslpassword", "pass%77ord", "%70assword"); random.IntN(4) {
		case 0: // in the URL, encoded or not
			given = pick("esdb", "postgres", "postgresql", "esdb+discover") + "://" + pick("ada", "a.b", "") + ":" +
				pick(password, url.QueryEscape(password), url.PathEscape(password)) +
				"@" + pick("db", "db:5432", "n1:1,n2:2", "[::1]:2113", "") + pick("", "/", "/links") + pick(
				"", "?tls=true", "?sslmode=disable&user=a",
			)
		case 1: // in the query; an unencoded password ends at the first &
			if random.IntN(2) == 0 {
				password = url.QueryEscape(password)
			}
			given = pick(
				"postgres://db/links?", "postgres://ada@db,db2:1/links?sslmode=disable&",
			) + key + "=" + password + pick("", "&user=a")
		case 2: // as key and value words
			given = "host=db " + strings.NewReplacer("%77", "w", "%70", "p").Replace(key) + "='" +
				strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'" + pick("", " user=ada")
		default: // without a host
			given = pick("esdb", "postgres") + "://ada:" + aSecret(random, "abcXYZ019-._~") + pick(
				"", "?tls=true", "/links",
			)
		}
		if got := Connection(given).String(); strings.Contains(got, "hunter2") {
			t.Fatalf("%q is printed as %q", given, got)
		}
	}
}

// FuzzConnection checks that printing never panics, and that passwords in a URL or a query are not
// printed.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"esdb://a:hunter2@es:2113?tls=true", "postgres://a:hunter2@/links?pass%77ord=hunter2",
		"host=db password='hunter2'", "a", "://", "x://@",
	} {
		f.Add(seed, "hunter2")
	}
	f.Fuzz(func(t *testing.T, text, password string) {
		_ = Connection(text).String() // must not panic
		const masked = "postgres://ada:xxxxx@db/links"
		if len(password) < 5 || strings.Contains(masked, password) {
			return
		}
		for _, given := range []string{
			"postgres://ada:" + url.QueryEscape(password) + "@db/links",
			"postgres://db/links?password=" + url.QueryEscape(password),
		} {
			if got := Connection(given).String(); strings.Contains(got, password) {
				t.Errorf("%q is printed as %q", given, got)
			}
		}
	})
}

// TestSecretsAreNotFormatted checks that connection strings and secrets are not printed, however
// they are formatted or logged.
func TestSecretsAreNotFormatted(t *testing.T) {
	t.Parallel()
	url, key := Connection("esdb://a:hunter2@es"), Text("hunter2")
	out := fmt.Sprintf("%s %v %+v %q %s %v %+v %q %v", url, url, url, url, key, key, key, key, []any{url, &key})
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("said", slog.Any("url", url), slog.Any("key", key))
	}
	if strings.Contains(out+log.String(), "hunter2") {
		t.Errorf("a password was printed:\n%s%s", out, log.String())
	}
}

package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/alecthomas/kong"
)

// Placeholders stand for connection strings in the help of flags.
var Placeholders = kong.Vars{"esdb": "esdb://HOST:2113?tls=false", "postgres": "postgres://..."}

// HelpTexts maps names to help texts that are too long for the tag of their field. A tag names its
// text as ${NAME}.
type HelpTexts map[string]string

// Option returns an option of kong that replaces the names of help texts with the texts of t and of
// this package. Variables of kong could do this too, but kong evaluates each variable anew for each
// flag, which took three quarters of the program's start.
func (t HelpTexts) Option() kong.Option {
	texts := maps.Clone(helpTexts)
	maps.Copy(texts, t)
	return kong.PostBuild(func(parser *kong.Kong) error {
		return kong.Visit(parser.Model, func(part kong.Visitable, next kong.Next) error {
			var help *string
			switch part := part.(type) {
			case *kong.Node: // a command
				help = &part.Help
			case *kong.Value: // of a flag or an argument
				help = &part.Help
			default:
				return next(nil)
			}
			if name, named := strings.CutPrefix(*help, "${"); named {
				text, found := texts[strings.TrimSuffix(name, "}")]
				if !found {
					return fmt.Errorf("there is no help text %s", *help)
				}
				*help = text
			}
			return next(nil)
		})
	})
}

var helpTexts = HelpTexts{
	// BackingUp.
	"backup": "Folder in which backups are made, as linkledger backup makes them. By default " +
		"none are made.",
	"backup_every": "How often a backup is made, 1m or more. With 0s this process makes none, " +
		"and shows the age of the newest one.",
	"backup_keep": "How many backups to keep. Older ones are removed.",

	// Serving.
	"listen":       "Address of the API and the short links.",
	"admin_listen": "Internal address of health, metrics and the console of operators.",
	"admin_hosts": "Host names under which operators open their console at the internal address, " +
		"such as the name of a proxy, besides localhost and IP addresses.",
	"traces": "Send traces by OTLP over gRPC. The environment variables of OpenTelemetry, such " +
		"as OTEL_EXPORTER_OTLP_ENDPOINT, configure the export.",
	"log_requests": "Requests that are logged: none, api, or all. With all, visits of short " +
		"links are logged too.",
	"profiling": "Serve profiles of the process under /debug/pprof/ on the internal address.",
	"blocked_hosts": "File of hosts that no new link may lead to, one per line. The service " +
		"reads it again when it changes.",
	"plans": "Limits of the accounts of each plan: NAME:urls=N,month-urls=N,day-calls=N, with a " +
		"; between plans. A limit that is left out does not apply.",
	"oidc_issuer": "URL of the OpenID Connect issuer at which people sign in. Without it nobody " +
		"can sign in at an issuer. It needs a master key.",
	"oidc_client": "Id of this service at the issuer.",
	"oidc_secret": "Secret of this service at the issuer. Give it in the environment or as a " +
		"file. By default the service is a public client.",
	"oidc_scopes": "Scopes to ask the issuer for, beyond openid, profile and email.",
	"oidc_claim":  "Claim of the ID token with the groups of a person.",
	"oidc_groups": "Roles of the issuer's groups: GROUP=ACCOUNT:ROLE or GROUP=operator, with a " +
		"; in between. If several groups give a role in one account, the first one counts.",
	"drain_delay": "How long the service keeps serving after the signal to stop. Meanwhile " +
		"/health/ready fails, so that load balancers notice.",
	"base_url": "Address of the short links, such as https://sho.rt. By default the host of the " +
		"request.",
	"new_keys": "Create the schema linkledger_durable although the log has links. Encrypted " +
		"notes are then lost, and known visitors count as new ones.",
	"replace_database": "Serve from this database although the log says that another one " +
		"serves. NUMBER is the number of the adoption that the refusal names, so the flag has " +
		"no effect a second time.",
	"cors": "Origins whose pages may call the API from a browser, such as " +
		"https://app.example.com, or * for all. They are compared exactly. Empty: none.",

	// Backends.
	"eventstore": "Connection string of the event store.",
	"database":   "Connection string of the PostgreSQL database.",

	// Sealing.
	"master_key": "Master key: 32 bytes in base64, as openssl rand -base64 32 prints them. It " +
		"encrypts the keys of accounts and people, which encrypt notes and details of people in " +
		"the log. Give it as a file, by LINKLEDGER_MASTER_KEY_FILE. Without it notes are stored " +
		"in plain text, and people can sign in with an API key only.",
	"former_key": "Former master key. When the service starts, it encrypts the keys of accounts " +
		"and people with the new one.",

	// Redirecting.
	"cache_size": "Memory for the cache of redirects, in MiB.",
	"spool": "Folder that keeps clicks while the event store is slow or unavailable, on a local " +
		"disk. Each process needs its own. By default ./data/spool; in dev the folder spool in " +
		"--data.",
	"spool_size": "Largest size of the spool, in MiB.",
	"click_patience": "How long a redirect waits for the event store before its click goes to " +
		"the spool.",
	"visitor_key": "Name of the key that hashes visitors. A key is generated when its name is " +
		"first used.",
	"former_visitor": "Former visitor key. Set it during a rotation so that visitors keep " +
		"their identity.",
	"countries": "File in the MaxMind DB format, such as GeoLite2-Country.mmdb, that maps " +
		"addresses to countries. The service reads it again when it changes.",
	"agents": "File with words that tell robots from people. They are added to the program's " +
		"words, or replace them. The service reads it again when it changes.",
	"trusted_proxies": "Networks of trusted proxies, such as 10.0.0.0/8. The address of a " +
		"client is read from their header X-Forwarded-For or, without it, Forwarded.",

	// Projecting.
	"ready_max_lag": "Largest lag of a projection with which /health/ready succeeds.",
	"effects": "What webhooks get of the events that were recorded before this start and that " +
		"they have not got, such as after a restore of an older database: skip for none, or " +
		"catch-up for all. By default, the events of the last hour.",
	"webhook_allow": "Networks of your own that webhooks may lead to, in CIDR notation. All " +
		"public addresses are allowed, and no other ones.",
	"wait_timeout": "How long a call waits at most for the read models to show what was written, " +
		"8s or less. After that a write of links is answered anyway.",
}

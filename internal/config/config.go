package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"

	"linkledger/commands/accounts"
	"linkledger/commands/destination"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/engine/projector"
	"linkledger/projections/readmodel"
)

// Serving are the addresses of the service.
type Serving struct {
	Listen       string        `help:"Address of the API and the short links." default:"127.0.0.1:8080" validate:"address"`
	AdminListen  string        `help:"Internal address of health and metrics." default:"127.0.0.1:8081" validate:"address"`
	Traces       bool          `help:"Send traces by OTLP over gRPC. OpenTelemetry's environment variables, such as OTEL_EXPORTER_OTLP_ENDPOINT, say where."`
	LogRequests  string        `help:"Requests that are logged: none, api, or all. With all, visits of short links are logged too." default:"api" validate:"oneof=none api all"`
	Profiling    bool          `help:"Serve profiles of the process under /debug/pprof/ on the internal address."`
	BlockedHosts string        `help:"File of hosts that no new link may lead to, one per line. The service reads it again when it changes." placeholder:"FILE"`
	Plans        Plans         `help:"Limits of the accounts of each plan: NAME:urls=N,month-urls=N,day-calls=N, with a ; between plans. What is not named has no limit." placeholder:"PLANS"`
	DrainDelay   time.Duration `help:"How long the service keeps serving after the signal to stop, while /health/ready already fails, so that load balancers notice." default:"0s" validate:"min=0s,max=10m"`
	BaseURL      string        `help:"Address of the short links, such as https://sho.rt. By default the host of the request." placeholder:"URL" validate:"omitempty,base_url"`
}

// Backends tell where a running installation keeps its data.
type Backends struct {
	Eventstore secret.Connection `name:"eventstore" help:"Connection string of the event store." placeholder:"esdb://HOST:2113?tls=false" validate:"omitempty,startswith=esdb,encoded"`
	Database   secret.Connection `help:"Connection string of the PostgreSQL database." placeholder:"postgres://..." validate:"omitempty,startswith=postgres,encoded"`
	Sealing
}

// Sealing is how notes are encrypted.
type Sealing struct {
	MasterKey       secret.Text `help:"Key that encrypts the accounts' keys, under which the log stores notes: 32 bytes in base64, as openssl rand -base64 32 prints them. Give it as a file, by LINKLEDGER_MASTER_KEY_FILE. Without it notes are stored in plain text." placeholder:"KEY" validate:"omitempty,master_key"`
	FormerMasterKey secret.Text `help:"Previous master key. The service encrypts the accounts' keys under the new one when it starts." placeholder:"KEY" validate:"omitempty,master_key,nefield=MasterKey"`
}

// Keys returns the master key with the one before; nil: there is none.
func (s Sealing) Keys() (*readmodel.MasterKey, error) {
	var key *readmodel.MasterKey
	for _, text := range []secret.Text{s.FormerMasterKey, s.MasterKey} {
		if text == "" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, err
		}
		if key, err = readmodel.NewMasterKey(raw, key); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// Redirecting is how short links are answered.
type Redirecting struct {
	CacheSize        uint64         `help:"Memory for the cache of redirects, in MiB." default:"32" validate:"min=1,max=65536"`
	Spool            string         `help:"Folder that keeps clicks while the event store is slow or away, on a local disk. Each process needs one of its own. By default ./data/spool; in dev the folder spool in --data." placeholder:"DIR"`
	SpoolSize        int64          `help:"Largest size of the spool, in MiB." default:"1024" validate:"min=1,max=1048576"`
	ClickPatience    time.Duration  `help:"How long a redirect waits for the event store before its click goes to the spool." default:"50ms" validate:"min=1ms,max=5s"`
	VisitorKey       string         `help:"Name of the key that hashes visitors. A key is generated when its name is first used." default:"visitor" validate:"key_name"`
	FormerVisitorKey string         `help:"Previous visitor key. Set it during a rotation so that visitors keep their identity." placeholder:"NAME" validate:"omitempty,key_name,nefield=VisitorKey"`
	Countries        string         `help:"File in the MaxMind DB format, such as GeoLite2-Country.mmdb, that maps addresses to countries. The service reads it again when it changes." placeholder:"FILE"`
	TrustedProxies   []netip.Prefix `help:"Networks of the proxies whose X-Forwarded-For header is believed, such as 10.0.0.0/8." placeholder:"CIDR"`
}

// WithSpool returns the configuration with a folder for the spool, where none was given.
func (r Redirecting) WithSpool(spool string) Redirecting {
	if r.Spool == "" {
		r.Spool = spool
	}
	return r
}

// Projecting is how the read models are kept and waited for.
type Projecting struct {
	PoisonEvents projector.Policy `help:"What a projection does at an event that it cannot apply: stop before it, or park it as a dead letter." default:"stop" validate:"policy"`
	ReadyMaxLag  time.Duration    `help:"Largest lag of a projection behind the log with which /health/ready succeeds." default:"30s" validate:"min=1s"`
	WaitTimeout  time.Duration    `help:"Longest time, up to 8s, that a call waits for the read models to show what was written. After that the call is answered without." default:"1s" validate:"min=1ms,max=8s"`
}

// Role is a part of the service that a process takes on.
type Role string

// The roles.
const (
	RoleAPI       Role = "api"
	RoleRedirect  Role = "redirect"
	RoleProjector Role = "projector"
)

// Validate checks a command's flags and says which one to change.
func Validate(config any) error {
	check := validator.New(validator.WithRequiredStructEnabled())
	for tag, rule := range rules {
		if err := check.RegisterValidation(
			tag, func(field validator.FieldLevel) bool { return rule(field.Field().String()) },
		); err != nil {
			return err
		}
	}
	err := check.Struct(config)
	if wrong, ok := errors.AsType[validator.ValidationErrors](err); ok {
		flag := flagName(wrong[0].StructField())
		return usage.Errorf(
			"%q is not valid for --%s (%s): %s", secret.Redact(fmt.Sprint(wrong[0].Value())), flag,
			usage.Env(flag), expectations[wrong[0].Tag()],
		)
	}
	return err
}

// rules are the validator tags of our own.
var rules = map[string]func(string) bool{
	"address": func(address string) bool {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return false
		}
		_, err = strconv.ParseUint(port, 10, 16)
		return err == nil
	},
	"encoded":  secret.Encoded,
	"key_name": regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString,
	"master_key": func(key string) bool {
		raw, err := base64.StdEncoding.DecodeString(key)
		return err == nil && len(raw) == readmodel.MasterKeySize
	},
	"origins": func(list string) bool { return Origins(list).Valid() },
	"policy": func(policy string) bool {
		return policy == string(projector.Stop) || policy == string(projector.Park)
	},
	"base_url": func(base string) bool {
		u, err := url.Parse(base)
		if _, unusable := destination.ShortHost(base); unusable != nil {
			return false
		}
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
			strings.TrimSuffix(base, "/") == u.Scheme+"://"+u.Host
	},
}

// expectations say what a validator tag asks for.
var expectations = map[string]string{
	"policy":     "choose from stop, park",
	"key_name":   "give 1 to 64 letters, digits, dots, dashes and underscores",
	"master_key": "give 32 bytes in base64, as openssl rand -base64 32 makes them",
	"nefield":    "give another key than the one that it comes before",
	"address":    "give HOST:PORT, such as 127.0.0.1:8080",
	"base_url":   "give scheme and host only, such as https://sho.rt",
	"encoded":    "write in it what is neither a letter nor a digit as %XX, such as %40 for @",
	"startswith": "give a connection string, as linkledger serve --help shows it",
	"origins": "give scheme, host and port alone, in lower case and without the scheme's usual " +
		"port, " +
		"such as https://app.example.com,http://localhost:3000, or * alone for all origins",
	"required": "give a value",
	"min":      "give more",
	"max":      "give less",
	"oneof":    "choose from what linkledger serve --help shows",
}

// flagName is kong's name for a field: AdminListen is --admin-listen.
func flagName(field string) string {
	switch field {
	case "EventStore":
		return "eventstore"
	case "BaseURL":
		return "base-url"
	case "CORSOrigins":
		return "cors-origins"
	}
	var name strings.Builder
	for i, r := range field {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte('-')
		}
		name.WriteRune(r)
	}
	return strings.ToLower(name.String())
}

// ExplainKey says what an operator can do about a master key that is missing or wrong.
func ExplainKey(err error) error {
	if errors.Is(err, readmodel.ErrNoMasterKey) || errors.Is(err, readmodel.ErrOtherMasterKey) ||
		errors.Is(err, accounts.ErrNothingSealed) {
		return usage.Errorf("%w, with --master-key (%s)", err, usage.Env("master-key"))
	}
	return err
}

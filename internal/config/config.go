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
	"linkledger/commands/people"
	"linkledger/httpapi/openid"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/keystore/keyfile"
)

// Serving configures how the service serves: addresses, requests that are logged, and limits.
type Serving struct {
	Listen       string        `help:"${listen}" default:"127.0.0.1:8080" validate:"address"`
	AdminListen  string        `help:"${admin_listen}" default:"127.0.0.1:8081" validate:"address"`
	AdminHosts   []string      `help:"${admin_hosts}" placeholder:"HOSTS"`
	Traces       bool          `help:"${traces}"`
	LogRequests  string        `help:"${log_requests}" default:"api" validate:"oneof=none api all"`
	Profiling    bool          `help:"${profiling}"`
	BlockedHosts string        `help:"${blocked_hosts}" placeholder:"FILE"`
	Plans        Plans         `help:"${plans}" placeholder:"PLANS"`
	DrainDelay   time.Duration `help:"${drain_delay}" default:"0s" validate:"min=0s,max=10m"`
	BaseURL      string        `help:"${base_url}" placeholder:"URL" validate:"omitempty,base_url"`
	NewKeys      bool          `help:"${new_keys}"`

	ReplaceDatabase int64 `help:"${replace_database}" placeholder:"NUMBER" validate:"min=0"`

	SigningKey secret.Text `help:"${signing_key}" placeholder:"KEY"`
	SignIn
}

// Backends configures where an installation keeps its data.
type Backends struct {
	Eventstore secret.Connection `help:"${eventstore}" placeholder:"${esdb}" validate:"esdb"`
	Database   secret.Connection `help:"${database}" placeholder:"${postgres}" validate:"postgres"`
	Sealing
}

// Sealing configures how notes are encrypted.
type Sealing struct {
	MasterKey       secret.Text `help:"${master_key}" placeholder:"KEY" validate:"sealing_key"`
	FormerMasterKey secret.Text `help:"${former_key}" placeholder:"KEY" validate:"former_key"`
}

// Keys returns the master key, with the former one if both are given. It returns nil if there is
// no master key.
func (s Sealing) Keys() (*keyfile.MasterKey, error) {
	var key *keyfile.MasterKey
	for _, text := range []secret.Text{s.FormerMasterKey, s.MasterKey} {
		if text == "" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, err
		}
		if key, err = keyfile.NewMasterKey(raw, key); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// Redirecting configures how short links are answered.
type Redirecting struct {
	CacheSize uint64 `help:"${cache_size}" default:"32" validate:"min=1,max=65536"`

	Spool     string `help:"${spool}" placeholder:"DIR"`
	SpoolSize int64  `help:"${spool_size}" default:"1024" validate:"min=1,max=1048576"`

	ClickPatience time.Duration `help:"${click_patience}" default:"50ms" validate:"min=1ms,max=5s"`

	VisitorKey       string `help:"${visitor_key}" default:"visitor" validate:"key_name"`
	FormerVisitorKey string `help:"${former_visitor}" placeholder:"NAME" validate:"former_visitor"`
	Countries        string `help:"${countries}" placeholder:"FILE"`
	Agents           string `help:"${agents}" placeholder:"FILE"`

	TrustedProxies []netip.Prefix `help:"${trusted_proxies}" placeholder:"CIDR"`
}

// WithSpool returns the configuration with a folder for the spool if none is given.
func (r Redirecting) WithSpool(spool string) Redirecting {
	if r.Spool == "" {
		r.Spool = spool
	}
	return r
}

// Projecting configures how projections run and how long calls wait for them.
type Projecting struct {
	ReadyMaxLag time.Duration `help:"${ready_max_lag}" default:"30s" validate:"min=1s"`
	WaitTimeout time.Duration `help:"${wait_timeout}" default:"1s" validate:"min=1ms,max=8s"`

	Effects string `help:"${effects}" placeholder:"HOW" validate:"omitempty,oneof=skip catch-up"`

	WebhookAllow []netip.Prefix `help:"${webhook_allow}" placeholder:"CIDR"`
}

// BackingUp configures when backups are made.
type BackingUp struct {
	Backup      string        `help:"${backup}" placeholder:"DIR"`
	BackupEvery time.Duration `help:"${backup_every}" default:"1h" validate:"min=0s,max=8760h"`
	BackupKeep  int           `help:"${backup_keep}" default:"24" validate:"min=1,max=100000"`
}

// Role is a part of the service that a process runs.
type Role string

// The roles.
const (
	RoleAPI       Role = "api"
	RoleRedirect  Role = "redirect"
	RoleProjector Role = "projector"
)

// Validate checks the flags of a command. Its error names the flag to change and what to give.
func Validate(config any) error {
	check := validator.New(validator.WithRequiredStructEnabled())
	for tag, rule := range rules {
		if err := check.RegisterValidation(
			tag, func(field validator.FieldLevel) bool { return rule(field.Field().String()) },
		); err != nil {
			return err
		}
	}
	for tag, tags := range aliases {
		check.RegisterAlias(tag, tags)
	}
	err := check.Struct(config)
	if wrong, ok := errors.AsType[validator.ValidationErrors](err); ok {
		// A wrong entry of a list has a name such as Roles[0].
		field, _, _ := strings.Cut(wrong[0].StructField(), "[")
		flag := flagName(field)
		return usage.Errorf(
			"%q is not valid for --%s (%s): %s", secret.Redact(fmt.Sprint(wrong[0].Value())), flag,
			usage.Env(flag), expectations[wrong[0].ActualTag()],
		)
	}
	return err
}

// aliases are names for lists of validator tags that are too long for the tag of a field.
var aliases = map[string]string{
	"esdb":           "omitempty,startswith=esdb,encoded",
	"postgres":       "omitempty,startswith=postgres,encoded",
	"sealing_key":    "omitempty,master_key",
	"former_key":     "omitempty,master_key,nefield=MasterKey",
	"former_visitor": "omitempty,key_name,nefield=VisitorKey",
	"roles":          "min=1,dive,oneof=api redirect projector",
}

// rules are the validator tags that this package defines.
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
		return err == nil && len(raw) == keyfile.MasterKeySize
	},
	"issuer":  func(issuer string) bool { return openid.CheckIssuer(issuer) == nil },
	"origins": func(list string) bool { return Origins(list).Valid() },
	"base_url": func(base string) bool {
		u, err := url.Parse(base)
		if _, unusable := destination.ShortHost(base); unusable != nil {
			return false
		}
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
			strings.TrimSuffix(base, "/") == u.Scheme+"://"+u.Host
	},
}

// expectations have the advice for each validator tag that can fail.
var expectations = map[string]string{
	"key_name":   "give 1 to 64 letters, digits, dots, dashes and underscores",
	"master_key": "give 32 bytes in base64, as openssl rand -base64 32 makes them",
	"nefield":    "give another key than the current one",
	"address":    "give HOST:PORT, such as 127.0.0.1:8080",
	"base_url":   "give scheme and host only, such as https://sho.rt",
	"encoded":    "write characters other than letters and digits as %XX, such as %40 for @",
	"startswith": "give a connection string, as linkledger serve --help shows it",
	"origins": "give scheme, host and port only, in lower case and without the scheme's " +
		"default port, such as https://app.example.com,http://localhost:3000, or * alone for " +
		"all origins",
	"issuer": "give the HTTPS URL of the issuer, as its configuration names it, such as " +
		"https://id.example.com; http is for this machine only",
	"required":      "give a value",
	"required_with": "give the id of this service at the issuer of --oidc-issuer",
	"min":           "give more",
	"max":           "give less",
	"oneof":         "choose from what linkledger serve --help shows",
}

// flagName returns the flag of a field, as kong derives it: --admin-listen for AdminListen.
func flagName(field string) string {
	switch field {
	case "BaseURL":
		return "base-url"
	case "CORSOrigins":
		return "cors-origins"
	case "OIDCClientID":
		return "oidc-client-id"
	}
	if rest, oidc := strings.CutPrefix(field, "OIDC"); oidc {
		return "oidc-" + flagName(rest)
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

// ExplainKey adds to an error about a missing or wrong master key which flag to change. It returns
// other errors unchanged.
func ExplainKey(err error) error {
	if errors.Is(err, keyfile.ErrNoMasterKey) || errors.Is(err, keyfile.ErrOtherMasterKey) ||
		errors.Is(err, accounts.ErrNothingSealed) || errors.Is(err, people.ErrNotSealed) {
		return usage.Errorf("%w, with --master-key (%s)", err, usage.Env("master-key"))
	}
	return err
}

package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"linkledger/commands/clicks"
	"linkledger/commands/clicks/spool"
	"linkledger/httpapi"
	v3 "linkledger/httpapi/v3"
	"linkledger/internal/app/startup"
	"linkledger/internal/config"
	"linkledger/internal/usage"
	"linkledger/internal/wiring"
	"linkledger/projections/keystore/keyuse"
)

// wire makes the parts of the service.
func (s *Service) wire(ctx context.Context) error {
	cfg := s.cfg
	visitorKey, formerKey, err := s.visitorKeys(ctx, cfg.Redirecting)
	if err != nil {
		return err
	}
	if s.Service, err = s.parts(ctx); err != nil {
		return err
	}
	s.Waiter.OnUnowned = s.logUnowned
	s.keyUses = keyuse.New(s.db.Pool, s.logger)
	country, err := s.openVisitorFiles()
	if err != nil {
		return err
	}
	if s.operators, err = s.operatorsConsole(visitorKey); err != nil {
		return err
	}
	signIn, err := s.signIn(ctx)
	if err != nil {
		return err
	}
	s.handler, err = httpapi.New(httpapi.Config{
		API: s.has(config.RoleAPI), Redirects: s.has(config.RoleRedirect),
		Writes: s.Writes, Reads: s.Reads, Visits: s.Visits, Projections: s.Projections,
		Webhooks: s.Webhooks,
		Usage:    v3.Usage{Plans: cfg.Plans.ByName, UsageMeter: s.UsageMeter},
		Limits:   v3.Limits{WaitTimeout: cfg.WaitTimeout},
		Sessions: s.db.Keys, SignIn: signIn, Served: s.served,
		Origins: cfg.Origins.List(), TrustedProxies: cfg.TrustedProxies,
		Country: country, Agents: s.agents,
		OperatorsURL: s.operatorsURL(), BaseURL: strings.TrimSuffix(cfg.BaseURL, "/"),
		VisitorKey: visitorKey, FormerVisitorKey: formerKey,
		Observe: s.metrics.Request, LoginRefused: s.metrics.Login, KeyUsed: s.keyUses.Used,
		Logger: s.logger, Tracer: s.traces.Tracer(),
		LogRequests: httpapi.RequestLog(cfg.LogRequests),
	})
	return err
}

// parts returns the parts of the service that do not depend on how it is reached.
func (s *Service) parts(ctx context.Context) (*wiring.Service, error) {
	destinations, err := wiring.Destinations(s.cfg.BaseURL, s.cfg.BlockedHosts, s.logger)
	if err != nil {
		return nil, err
	}
	identities, err := s.identities(ctx)
	if err != nil {
		return nil, err
	}
	if s.has(config.RoleRedirect) {
		if s.spool, err = openSpool(ctx, s.logger, s.cfg.Redirecting); err != nil {
			return nil, err
		}
	}
	return wiring.New(wiring.Config{
		Store: s.Store, DB: s.db, Destinations: destinations, Identities: identities,
		WebhookAllow: s.cfg.WebhookAllow,
		SigningKey:   string(s.cfg.SigningKey), CacheSize: s.cfg.CacheSize << 20,
		Clicks: clicks.Config{
			Spool: s.spool, StoreTimeout: s.cfg.ClickPatience, Tracer: s.traces.Tracer(),
		},
		Logger: s.logger,
	})
}

// logUnowned logs that a projection has lost or regained its owner, the process that keeps it up to
// date.
func (s *Service) logUnowned(projection string, unowned bool) {
	if unowned {
		s.logger.Warn("no process keeps the projection up to date: answers lack the latest "+
			"changes", slog.String("projection", projection))
		return
	}
	s.logger.Info("the projection is kept up to date again", slog.String("projection", projection))
}

// visitorKeys returns the key that hashes visitors, and the former key. The former key is nil if
// none is configured.
func (s *Service) visitorKeys(
	ctx context.Context, cfg config.Redirecting,
) (current, former []byte, err error) {
	if cfg.FormerVisitorKey != "" {
		err = startup.Ask(ctx, func(ctx context.Context) (err error) {
			former, err = s.db.Keys.StoredSecret(ctx, cfg.FormerVisitorKey, visitorKeySize)
			return err
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, usage.Errorf("there is no key %q: name the former key with "+
				"--former-visitor-key (%s), or none",
				cfg.FormerVisitorKey, usage.Env("former-visitor-key"))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	current, err = s.stores.Secret(ctx, cfg.VisitorKey, visitorKeySize)
	return current, former, err
}

// openSpool opens the spool of clicks. If it fails, the user has to change the configuration.
func openSpool(
	ctx context.Context, logger *slog.Logger, cfg config.Redirecting,
) (*spool.Spool, error) {
	opened, err := spool.Open(spool.Config{Dir: cfg.Spool, MaxBytes: cfg.SpoolSize << 20})
	if err != nil {
		return nil, usage.Errorf(
			"%w; choose another folder with --spool (%s)", err, usage.Env("spool"),
		)
	}
	if n := opened.Damaged(); n > 0 {
		logger.ErrorContext(ctx, "parts of the spool of clicks cannot be read and are kept aside "+
			"as *.damaged",
			slog.String("spool", cfg.Spool), slog.Int("segments", n))
	}
	return opened, nil
}

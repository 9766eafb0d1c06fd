package httpapi

// This file lets external tests look into a server and shorten its deadline.

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/router"
)

// Config returns the configuration of a server, to make another one with.
func (s *Server) Config() Config { return s.cfg }

// SetRequestTimeout changes how long requests may take from now on.
func (s *Server) SetRequestTimeout(most time.Duration) { s.cfg.RequestTimeout = most }

// CallsAndPages returns the routes of the API and of the console.
func (s *Server) CallsAndPages() []router.Route {
	return slices.Concat(s.api.Routes(), s.console.Routes())
}

// Routes returns all routes.
func (s *Server) Routes() []router.Route { return append(s.CallsAndPages(), s.short.Routes()...) }

// Operations returns how many operations of an account run or wait.
func (s *Server) Operations(account uuid.UUID) int { return s.v3.Operations(account) }

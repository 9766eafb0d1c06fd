package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"linkledger/commands"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// code is an error code of the contract.
type code int

// The codes. What they mean is in answers.
const (
	codeOK                 code = 0
	codeUnknown            code = 101
	codeInvalidUsername    code = 1102
	codeInvalidHash        code = 1204
	codeInvalidURL         code = 1206
	codeHashUnavailable    code = 1215
	codeURLNotAllowed      code = 1216
	codeAccessDenied       code = 1217
	codeIncorrectURL       code = 1218
	codeCooldown           code = 1219
	codeURLLimit           code = 1220
	codeBatchLimit         code = 1221
	codeInvalidKey         code = 1300
	codeInvalidResource    code = 1301
	codeMethodNotSupported code = 1302
	codeCallLimit          code = 1303
	codeMissingInput       code = 1305
	codeURLNotFound        code = 1306
	codeWrongInput         code = 1307
	codeHTTPError          code = 1308
	codeTagNotFound        code = 1309
	codeBodyTooLarge       code = 1310
	codeInvalidLabel       code = 1311
	codeInvalidDate        code = 1312
	codeDomainNotFound     code = 1313
	codeInvalidWebhook     code = 1314
)

// answers are the messages of the contract, and the status that goes with a code when it stands for the whole request.
var answers = map[code]struct {
	message string
	status  int
}{
	codeOK:                 {"", http.StatusOK},
	codeUnknown:            {"Unknown error", http.StatusInternalServerError},
	codeInvalidUsername:    {"Invalid username", http.StatusBadRequest},
	codeInvalidHash:        {"Not a valid Short URL hash", http.StatusBadRequest},
	codeInvalidURL:         {"URL you tried to shorten was invalid", http.StatusBadRequest},
	codeHashUnavailable:    {"Short URL is not correct or existed", http.StatusBadRequest},
	codeURLNotAllowed:      {"URL you tried to shorten is not allowed", http.StatusBadRequest},
	codeAccessDenied:       {"Access Denied", http.StatusForbidden},
	codeIncorrectURL:       {"Short URL is not correct", http.StatusBadRequest},
	codeCooldown:           {"Target server on cooldown", http.StatusTooManyRequests},
	codeURLLimit:           {"URLs limit has been reached", http.StatusForbidden},
	codeBatchLimit:         {"Exceeded limit of batch operation", http.StatusBadRequest},
	codeInvalidKey:         {"Invalid API key", http.StatusBadRequest},
	codeInvalidResource:    {"Invalid resource", http.StatusNotFound},
	codeMethodNotSupported: {"Method not supported", http.StatusMethodNotAllowed},
	codeCallLimit:          {"API call limit reached", http.StatusTooManyRequests},
	codeMissingInput:       {"Missing input parameters", http.StatusBadRequest},
	codeURLNotFound:        {"URL not found in DB", http.StatusNotFound},
	codeWrongInput:         {"Wrong number of input parameters", http.StatusBadRequest},
	codeHTTPError:          {"HTTP error", http.StatusInternalServerError},
	codeTagNotFound:        {"Tag not found", http.StatusNotFound},
	codeBodyTooLarge:       {"Too big POST data", http.StatusRequestEntityTooLarge},
	codeInvalidLabel:       {"Invalid or duplicate tag label", http.StatusBadRequest},
	codeInvalidDate:        {"Invalid date", http.StatusBadRequest},
	codeDomainNotFound:     {"Domain not found", http.StatusNotFound},
	codeInvalidWebhook:     {"Invalid webhook parameter", http.StatusBadRequest},
}

// kinds are the codes of what the write side refuses.
var kinds = map[domain.Kind]code{
	domain.InvalidURL:      codeInvalidURL,
	domain.URLNotAllowed:   codeURLNotAllowed,
	domain.HashUnavailable: codeHashUnavailable,
	domain.InvalidHash:     codeInvalidHash,
	domain.URLNotFound:     codeURLNotFound,
	domain.URLProtected:    codeAccessDenied,
	domain.InvalidDate:     codeInvalidDate,
	domain.InvalidValue:    codeWrongInput,
	domain.InvalidLabel:    codeInvalidLabel,
	domain.TagNotFound:     codeTagNotFound,
	domain.InvalidUsername: codeInvalidUsername,
	domain.AccountNotFound: codeInvalidUsername,
	domain.URLLimitReached: codeURLLimit,
	domain.URLChanged:      codeIncorrectURL,
	domain.AccountGone:     codeAccessDenied,
	domain.KeyReused:       codeWrongInput,
}

// retryAfter is told to clients when the event store or the database cannot be asked.
const retryAfter = time.Second

// maxDetails keeps what a client sent from coming back at full length.
const maxDetails = 300 // code points

// maxLoggedError keeps what a client sent from reaching the log at full length, within an error.
const maxLoggedError = 2000 // code points

// apiError is a refusal of a request or of an item by this package.
type apiError struct {
	code    code
	details string // says in plain words what to mend
	status  int    // 0: that of the code
	// retryAfter is when a call that came too often may be repeated; 0: after a moment.
	retryAfter time.Duration
}

// Error implements error.
func (e *apiError) Error() string { return answers[e.code].message + ": " + e.details }

// unread is an error of the read models, which means that they could not be asked.
type unread struct{ err error }

// Error implements error.
func (u unread) Error() string { return u.err.Error() }

// Unwrap gives the cause.
func (u unread) Unwrap() error { return u.err }

// answered marks what queries fail with, except that something is not there.
func answered(err error) error {
	if _, known := errors.AsType[*linklist.UnknownTagError](err); known || err == nil || errors.Is(err, queries.ErrNotFound) {
		return err
	}
	return unread{err}
}

// isOutage tells whether an error will pass when the event store or the database is back, or less busy.
func isOutage(err error) bool {
	if _, ok := errors.AsType[unread](err); ok {
		return true
	}
	for _, passing := range []error{
		commands.ErrUnavailable, commands.ErrBusy, streams.ErrNoKey, clicks.ErrClosed, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// failure is what a client learns of an error.
type failure struct {
	code    code
	details string
	fields  []string // of a URL
	status  int

	retryAfter time.Duration // 0: after a moment
}

// refusal tells whether an error is a refusal, and what the client learns of it.
func refusal(err error) (failure, bool) {
	if refused, ok := errors.AsType[*apiError](err); ok {
		f := failure{code: refused.code, details: clip(refused.details), status: refused.status, retryAfter: refused.retryAfter}
		setDefault(&f.status, answers[f.code].status)
		return f, true
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		known, ok := kinds[refused.Kind]
		if !ok {
			return failure{}, false
		}
		return failure{code: known, details: clip(refused.Details), fields: refused.Fields, status: answers[known].status}, true
	}
	if unknown, ok := errors.AsType[*linklist.UnknownTagError](err); ok {
		return failure{code: codeTagNotFound, details: clip(unknown.Error()), status: answers[codeTagNotFound].status}, true
	}
	if errors.Is(err, queries.ErrNotFound) {
		return failure{code: codeURLNotFound, status: answers[codeURLNotFound].status}, true
	}
	return failure{}, false
}

// failureOf returns what the client learns of an error that ends the request. What is no refusal is logged here, and
// nowhere else.
func (s *server) failureOf(e *exchange, err error) failure {
	if f, ok := refusal(err); ok {
		return f
	}
	if errors.Is(e.context().Err(), context.Canceled) || errors.Is(err, errClientLeft) {
		s.cfg.Logger.DebugContext(e.context(), "client left", slog.String("request", e.id), slog.String("error", clipTo(err.Error(), maxLoggedError)))
		return failure{code: codeUnknown, status: http.StatusServiceUnavailable}
	}
	s.cfg.Logger.ErrorContext(e.context(), "request failed", slog.String("request", e.id),
		slog.String("method", knownMethod(e.request.Method)), slog.String("route", e.route), slog.String("error", clipTo(err.Error(), maxLoggedError)))
	if errors.Is(err, commands.ErrCut) {
		return failure{
			code: codeUnknown, details: "Part of the history is missing in the event store. An operator has to look.",
			status: http.StatusInternalServerError,
		}
	}
	if !isOutage(err) {
		return failure{code: codeUnknown, status: http.StatusInternalServerError}
	}
	return failure{code: codeUnknown, details: "The service cannot answer now, try again", status: http.StatusServiceUnavailable}
}

// answerClient answers a client of the API.
func (s *server) answerClient(e *exchange, f failure) {
	header := e.Header()
	header.Set("Cache-Control", "no-store")
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		header.Set("Retry-After", seconds(cmp.Or(f.retryAfter, retryAfter)))
	}
	if f.code == codeInvalidKey || f.code == codeInvalidUsername {
		header.Set("WWW-Authenticate", `Basic realm="linkledger", charset="UTF-8"`)
	}
	_ = writeJSON(e, f.status, failed(f)) // an envelope can be encoded
}

// seconds is a duration as the header Retry-After has it, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

func clip(details string) string { return clipTo(details, maxDetails) }

// clipTo returns as many code points of a text.
func clipTo(details string, most int) string {
	n := 0
	for i := range details {
		if n == most {
			return strings.ToValidUTF8(details[:i], "") + "…"
		}
		n++
	}
	return details
}

package signin

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/request"
)

// explained returns the error of the API for an error of a sign-in. It logs what the person is not
// told.
func (h *Handler) explained(c *request.Context, err error) error {
	_, brought := errors.AsType[*openid.FailedError](err)
	if brought || errors.Is(err, openid.ErrRefused) || errors.Is(err, openid.ErrInvalid) {
		h.Refused(refusedReason)
		h.log(c, slog.LevelWarn, "sign-in refused", err)
	}
	switch {
	case brought: // no outage, because any browser can send such an answer
		return &apierror.Error{
			Code:    apierror.CodeAccessDenied,
			Details: "The identity provider could not finish the sign-in: sign in again",
		}
	case errors.Is(err, openid.ErrMisconfigured): // a fault, which Watch logs while it lasts
		return errMisconfigured
	case errors.Is(err, openid.ErrUnavailable) && c.Context().Err() == nil:
		h.log(c, slog.LevelError, "sign-in failed", err)
		return errSilent
	case errors.Is(err, openid.ErrUnavailable): // the browser has left, or the request timed out
		return apierror.Unavailable(err)
	case errors.Is(err, openid.ErrRefused):
		return refusal(err)
	case errors.Is(err, openid.ErrInvalid):
		return &apierror.Error{
			Code:    apierror.CodeInvalidKey,
			Details: "The sign-in is not valid or took too long: sign in again",
		}
	}
	return err
}

// log logs a sign-in or a sign-out that fails. If there are too many, it leaves some out, because
// anybody can cause them.
func (h *Handler) log(c *request.Context, level slog.Level, message string, err error) {
	if h.logs.Allow() {
		//nolint:sloglint // a constant of the caller
		h.Logger.LogAttrs(c.Context(), level, message, slog.Any("error", err),
			slog.String("request", c.ID))
	}
}

// errMisconfigured is not a 503, because the node can serve everything else.
var errMisconfigured = &apierror.Error{
	Code: apierror.CodeUnknown, Status: http.StatusInternalServerError,
	Details: "Signing in with this organisation does not work now. That is a fault of this " +
		"installation, not yours. Its operators see it. Wait until they have mended it.",
}

var errSilent = apierror.Late("The identity provider of this organisation does not answer. That " +
	"is a fault of this installation, not yours. Its operators see it. Sign in later.")

// clientFaults are the error codes with which an issuer refuses all sign-ins of this service.
var clientFaults = []string{
	"unauthorized_client", "unsupported_response_type", "invalid_scope", "invalid_request",
	"invalid_client",
}

// refusal returns the error for a sign-in that the issuer refuses.
func refusal(err error) error {
	details := "The identity provider refused the sign-in"
	refused, ok := errors.AsType[*openid.RefusedError](err)
	if ok && slices.Contains(clientFaults, refused.Code) {
		details += " (" + refused.Code + "). That is a fault of this installation: tell its " +
			"operators"
	}
	return &apierror.Error{Code: apierror.CodeAccessDenied, Details: details}
}

package httpapi

import (
	"net/http"

	"linkledger/commands/domain"
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

// message returns the message of the contract.
func (c code) message() string { return answers[c].message }

// httpStatus returns the status that goes with a code when it stands for the whole request.
func (c code) httpStatus() int { return answers[c].status }

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

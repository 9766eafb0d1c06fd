// Package apierror defines the errors of the API: their codes, their messages, and the code for
// each error of commands and queries. It MUST NOT write responses.
package apierror

import (
	"net/http"

	"linkledger/commands/domain"
)

// Code is an error code of the API's contract.
type Code int

// The codes of the contract. definitions has their messages.
const (
	CodeOK                 Code = 0
	CodeUnknown            Code = 101
	CodeInvalidUsername    Code = 1102
	CodeInvalidHash        Code = 1204
	CodeInvalidURL         Code = 1206
	CodeHashUnavailable    Code = 1215
	CodeURLNotAllowed      Code = 1216
	CodeAccessDenied       Code = 1217
	CodeIncorrectURL       Code = 1218
	CodeCooldown           Code = 1219
	CodeURLLimit           Code = 1220
	CodeBatchLimit         Code = 1221
	CodeInvalidKey         Code = 1300
	CodeInvalidResource    Code = 1301
	CodeMethodNotSupported Code = 1302
	CodeCallLimit          Code = 1303
	CodeMissingInput       Code = 1305
	CodeURLNotFound        Code = 1306
	CodeWrongInput         Code = 1307
	CodeHTTPError          Code = 1308
	CodeTagNotFound        Code = 1309
	CodeBodyTooLarge       Code = 1310
	CodeInvalidLabel       Code = 1311
	CodeInvalidDate        Code = 1312
	CodeDomainNotFound     Code = 1313
	CodeInvalidWebhook     Code = 1314
)

// definitions has the message of each code, and the HTTP status of the response if the whole call
// fails with the code.
var definitions = map[Code]struct {
	message string
	status  int
}{
	CodeOK:                 {"", http.StatusOK},
	CodeUnknown:            {"Unknown error", http.StatusInternalServerError},
	CodeInvalidUsername:    {"Invalid username", http.StatusBadRequest},
	CodeInvalidHash:        {"Not a valid Short URL hash", http.StatusBadRequest},
	CodeInvalidURL:         {"URL you tried to shorten was invalid", http.StatusBadRequest},
	CodeHashUnavailable:    {"Short URL is not correct or existed", http.StatusBadRequest},
	CodeURLNotAllowed:      {"URL you tried to shorten is not allowed", http.StatusBadRequest},
	CodeAccessDenied:       {"Access Denied", http.StatusForbidden},
	CodeIncorrectURL:       {"Short URL is not correct", http.StatusBadRequest},
	CodeCooldown:           {"Target server on cooldown", http.StatusTooManyRequests},
	CodeURLLimit:           {"URLs limit has been reached", http.StatusForbidden},
	CodeBatchLimit:         {"Exceeded limit of batch operation", http.StatusBadRequest},
	CodeInvalidKey:         {"Invalid API key", http.StatusBadRequest},
	CodeInvalidResource:    {"Invalid resource", http.StatusNotFound},
	CodeMethodNotSupported: {"Method not supported", http.StatusMethodNotAllowed},
	CodeCallLimit:          {"API call limit reached", http.StatusTooManyRequests},
	CodeMissingInput:       {"Missing input parameters", http.StatusBadRequest},
	CodeURLNotFound:        {"URL not found in DB", http.StatusNotFound},
	CodeWrongInput:         {"Wrong number of input parameters", http.StatusBadRequest},
	CodeHTTPError:          {"HTTP error", http.StatusInternalServerError},
	CodeTagNotFound:        {"Tag not found", http.StatusNotFound},
	CodeBodyTooLarge:       {"Too big POST data", http.StatusRequestEntityTooLarge},
	CodeInvalidLabel:       {"Invalid or duplicate tag label", http.StatusBadRequest},
	CodeInvalidDate:        {"Invalid date", http.StatusBadRequest},
	CodeDomainNotFound:     {"Domain not found", http.StatusNotFound},
	CodeInvalidWebhook:     {"Invalid webhook parameter", http.StatusBadRequest},
}

// Message returns the message that the contract has for the code.
func (c Code) Message() string { return definitions[c].message }

// Status returns the HTTP status of the response if the whole call fails with the code.
func (c Code) Status() int { return definitions[c].status }

// codeOfKind maps the refusals of commands to codes.
var codeOfKind = map[domain.Kind]Code{
	domain.InvalidURL:      CodeInvalidURL,
	domain.URLNotAllowed:   CodeURLNotAllowed,
	domain.HashUnavailable: CodeHashUnavailable,
	domain.InvalidHash:     CodeInvalidHash,
	domain.URLNotFound:     CodeURLNotFound,
	domain.URLProtected:    CodeAccessDenied,
	domain.InvalidDate:     CodeInvalidDate,
	domain.InvalidValue:    CodeWrongInput,
	domain.InvalidLabel:    CodeInvalidLabel,
	domain.TagNotFound:     CodeTagNotFound,
	domain.InvalidUsername: CodeInvalidUsername,
	domain.AccountNotFound: CodeInvalidUsername,
	domain.URLLimitReached: CodeURLLimit,
	domain.URLChanged:      CodeIncorrectURL,
	domain.AccountGone:     CodeAccessDenied,
	domain.AccessDenied:    CodeAccessDenied,
	domain.KeyNotFound:     CodeInvalidResource,
	domain.MemberNotFound:  CodeInvalidResource,
	domain.UserNotFound:    CodeInvalidResource,
	domain.KeyReused:       CodeWrongInput,
	domain.InvalidWebhook:  CodeInvalidWebhook,
	domain.WebhookNotFound: CodeInvalidResource,
}

package decode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-playground/validator/v10"

	"linkledger/httpapi/apierror"
)

// validate checks the shape of payloads: what is there and in which range. The rules about values
// are those of commands.
var validate = newValidator()

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("name") })
	return v
}

// Check refuses a payload whose shape is wrong. path is where the payload lies, as a prefix of the
// names in details.
func Check(payload any, path string) error {
	err := validate.Struct(payload)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok {
		return fmt.Errorf("validate: %w", err)
	}
	name := path + wrong[0].Field()
	switch wrong[0].Tag() {
	case "required":
		return &apierror.Error{Code: apierror.CodeMissingInput, Details: name + " is missing"}
	case "min":
		return apierror.WrongInput("%s must be at least %s", name, wrong[0].Param())
	}
	return apierror.WrongInput("%s is wrong", name)
}

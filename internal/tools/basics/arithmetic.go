package basics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// Bounds of an operand. They cover every double and keep the exact arithmetic
// cheap: a few characters such as 1e999999999 would otherwise cost gigabytes.
const (
	maxNumberLength = 400
	maxExponent     = 400
)

var (
	errDivisionByZero = errors.New("division by zero")
	errTooLarge       = errors.New("the result is too large")
)

const sumInput = `{
	"type": "object",
	"properties": {
		"a": {"type": "number", "description": "The first number."},
		"b": {"type": "number", "description": "The second number."}
	},
	"required": ["a", "b"],
	"additionalProperties": false
}`

const divideInput = `{
	"type": "object",
	"properties": {
		"a": {"type": "number", "description": "The dividend."},
		"b": {"type": "number", "description": "The divisor, not 0."}
	},
	"required": ["a", "b"],
	"additionalProperties": false
}`

// operands keeps numbers as the client wrote them, with all their digits.
type operands struct {
	A jsontext.Value `json:"a"`
	B jsontext.Value `json:"b"`
}

func calculateSum() mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:        "calculate_sum",
		Title:       "Calculate sum",
		Description: "Adds two numbers exactly, in decimal: 0.1 + 0.2 is 0.3, and large integers keep all their digits.",
		InputSchema: jsontext.Value(sumInput),
		Annotations: tools.ReadOnly(),
	}, func(_ context.Context, _ *mcp.ToolCall, in operands) (jsontext.Value, error) {
		a, b, err := in.parse()
		if err != nil {
			return nil, err
		}
		return formatNumber(a.Add(a, b))
	})
}

func divide() mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:  "divide",
		Title: "Divide",
		Description: "Divides a by b. The quotient is exact when it has finitely many decimals, " +
			"otherwise the nearest double. Dividing by 0 is an error.",
		InputSchema: jsontext.Value(divideInput),
		Annotations: tools.ReadOnly(),
	}, func(_ context.Context, _ *mcp.ToolCall, in operands) (jsontext.Value, error) {
		a, b, err := in.parse()
		if err != nil {
			return nil, err
		}
		if b.Sign() == 0 {
			return nil, errDivisionByZero
		}
		return formatNumber(a.Quo(a, b))
	})
}

func (o operands) parse() (a, b *big.Rat, err error) {
	if a, err = parseNumber(o.A); err != nil {
		return nil, nil, fmt.Errorf("a: %w", err)
	}
	if b, err = parseNumber(o.B); err != nil {
		return nil, nil, fmt.Errorf("b: %w", err)
	}
	return a, b, nil
}

// parseNumber returns the exact value of a JSON number.
func parseNumber(raw jsontext.Value) (*big.Rat, error) {
	if raw.Kind() != jsontext.KindNumber {
		return nil, errors.New("not a number")
	}
	text := string(raw)
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil {
			exponent = maxExponent + 1 // a JSON exponent can only be wrong by being too large for an int
		}
	}
	if len(text) > maxNumberLength || exponent > maxExponent || exponent < -maxExponent {
		return nil, fmt.Errorf("a number may have %d characters and an exponent of ±%d", maxNumberLength, maxExponent)
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New("not a number")
	}
	return x, nil
}

// formatNumber encodes x as a JSON number: with every digit when these are
// finitely many, else as the double nearest to it.
func formatNumber(x *big.Rat) (jsontext.Value, error) {
	if decimals, exact := x.FloatPrec(); exact {
		return jsontext.Value(x.FloatString(decimals)), nil
	}
	nearest, _ := x.Float64()
	if math.IsInf(nearest, 0) {
		return nil, errTooLarge
	}
	return jsonrpc.Marshal(nearest)
}

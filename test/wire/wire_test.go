package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/test/wire"
)

func TestValidate(t *testing.T) {
	fine := map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`:                                                                                               "tools/call",
		`{"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","requestState":"s"}}`:                                                                                 "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}`:                                                                 "tools/list",
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`:                                                                                                      "tools/list",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}}`:                                                    "tools/list",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`:                                                                        "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":1}}`:                                    "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":1}}`:                                "tasks/get",
		`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","status":"failed","createdAt":"","lastUpdatedAt":"","ttlMs":1,"error":{"code":1,"message":""}}}`: "subscriptions/listen",
	}
	for message, method := range fine {
		assert.NoError(t, wire.Validate(method, []byte(message)), message)
	}
	wrong := map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`:                                                                                    "tools/call",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`:                                                         "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}`:                                                              "tools/list",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`:                                                                     "tools/list",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"not found"}}`:                                                              "resources/read",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"go there"}}`:                                                               "tools/call",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"no"}}`:                                                                     "tools/call",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5}}`:                                                       "tools/call",
		`{"jsonrpc":"2.0","method":"sampling/createMessage","params":{}}`:                                                                     "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`:                                                                         "initialize",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t","status":"working"}}`:                                             "tools/call",
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":1}}`: "tasks/get",
		`not json`: "tools/call",
	}
	for message, method := range wrong {
		assert.Error(t, wire.Validate(method, []byte(message)), message)
	}
}

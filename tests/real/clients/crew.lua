-- `crew lsp` under Neovim without a screen: what it says of a folder, as JSON on standard output.
local crew, folder = vim.env.CREW_PROGRAM, vim.env.CREW_FOLDER
local wait = 60000

local function say(found)
  io.stdout:write(vim.json.encode(found) .. "\n")
end

vim.api.nvim_command("edit " .. folder .. "/crew.yaml")
local buffer = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({ cmd = { crew, "lsp" }, root_dir = folder })
vim.lsp.buf_attach_client(buffer, client)

local function problems()
  return vim.diagnostic.get(buffer)
end

local function at(line, column, more)
  local place = { textDocument = vim.lsp.util.make_text_document_params(buffer), position = { line = line, character = column } }
  return vim.tbl_extend("force", place, more or {})
end

local function ask(method, params)
  local found = vim.lsp.buf_request_sync(buffer, method, params, wait) or {}
  return found[client] and found[client].result
end

vim.wait(wait, function() return #problems() > 0 end)
local first = problems()[1]
local fixes = ask("textDocument/codeAction", at(first.lnum, first.col, {
  range = { start = { line = first.lnum, character = first.col }, ["end"] = { line = first.end_lnum, character = first.end_col } },
  context = { diagnostics = { { range = { start = { line = first.lnum, character = first.col }, ["end"] = { line = first.end_lnum, character = first.end_col } }, message = first.message, code = first.code } } },
}))
local hover = ask("textDocument/hover", at(0, 1))
local complete = ask("textDocument/completion", at(first.lnum, first.col + 1))
local titles = {}
for _, one in ipairs(fixes or {}) do
  table.insert(titles, one.title)
end
-- the first fix is applied, as a person does it
vim.lsp.util.apply_workspace_edit(fixes[1].edit, "utf-16")
vim.wait(wait, function() return #problems() == 0 end)
say({
  problem = { line = first.lnum, column = first.col, message = first.message, code = first.code },
  fixes = titles,
  hover = hover and hover.contents,
  completes = complete ~= nil,
  left = #problems(),
  text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"),
})
vim.lsp.stop_client(client)
vim.api.nvim_command("qall!")

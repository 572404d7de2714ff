// The words of the console, in English and Vietnamese; a word without a translation is its own.

const VIETNAMESE = {
  "To the content": "Đến nội dung", "Where it is made": "Nơi được khai báo", "Where it is named": "Nơi được nhắc đến", "Another name": "Đổi tên", "Nothing is named here.": "Không có tên nào ở đây.", Approve: "Đồng ý", added: "thêm mới", removed: "bị bỏ", "left out while paused": "bỏ qua vì lịch tạm dừng", "No step differs, but texts do.": "Không bước nào khác, nhưng nội dung khác.",
  "The server does not take this page's token any more.": "Máy chủ không còn nhận mã truy cập của trang này.", "Give another one in a new tab": "Đưa mã khác trong thẻ mới",
  "Zoom in": "Phóng to", "Zoom out": "Thu nhỏ", "Find an agent": "Tìm tác tử", Columns: "Các cột", Column: "Cột", "More filters": "Thêm bộ lọc", until: "đến", "all tools": "mọi công cụ", "waits for": "đang đợi", "waits or not": "đợi hay không", "waits for words": "đợi câu trả lời", "waits for a decision": "đợi quyết định", owner: "chủ", tool: "công cụ",
  "how it ended": "kết thúc vì", "cost over, in USD": "chi phí trên (USD)", "Cancel what matches": "Huỷ những gì khớp", "End so many runs": "Kết thúc số lượt chạy này",
  "The address says what is not known here, and is left out": "Địa chỉ có điều không biết ở đây nên được bỏ qua",
  "Leave the answer that you have begun?": "Bỏ câu trả lời đang viết dở?",
  "The server does not answer. The page shows what it had, and asks again.": "Máy chủ không trả lời. Trang vẫn hiện những gì đã có và sẽ hỏi lại.",
  taken: "đã đi qua", "Show all": "Hiện tất cả",
  "Delete what matches": "Xoá những gì khớp", "Delete so many runs, with all that is of them": "Xoá số lượt chạy này cùng mọi thứ của chúng",
  "This crew has no tools: tools.yaml names some.": "Đội này không có công cụ: hãy khai báo trong tools.yaml.", "Calls since": "Lệnh gọi từ", "not all were counted": "chưa đếm hết", "What each may do": "Mỗi công cụ được làm gì",
  "Approved for all runs": "Đã đồng ý cho mọi lượt chạy", Withdraw: "Thu hồi", yes: "có", no: "không", sometimes: "đôi khi", kind: "loại", reaches: "truy cập", "runs a program": "chạy", reads: "đọc", writes: "ghi", sandbox: "hộp cát", pin: "ghim",
  "Keys and display": "Phím tắt và hiển thị", "Next row": "Dòng sau", "Row before": "Dòng trước", Open: "Mở", "Single keys": "Phím đơn", "Times in UTC": "Giờ theo UTC", Close: "Đóng",
  "saved views": "kiểu xem đã lưu", "Save this view": "Lưu kiểu xem này", "A name for this view": "Tên của kiểu xem này", "Forget this view": "Quên kiểu xem này",
  Edit: "Sửa", Files: "Các tệp", File: "Tệp", Problems: "Vấn đề", errors: "lỗi", changed: "đã sửa", "as it is served": "như bản đang dùng", "Save as a revision": "Lưu thành phiên bản", "Mend what is certain": "Sửa những gì chắc chắn",
  "Drop my changes": "Bỏ các thay đổi của tôi", "New agent": "Tác tử mới", "Delete this file": "Xoá tệp này", "did you mean": "có phải ý bạn là", "not allowed here": "không được phép ở đây", "Take it up": "Dùng lại", "Load what is served now": "Tải bản đang dùng", "Others have changed the same lines. Choose between the marks": "Người khác đã sửa cùng những dòng đó. Hãy chọn giữa các dấu",
  "This browser has changes to an earlier revision": "Trình duyệt này có thay đổi cho một phiên bản cũ hơn", "Drop all changes that are not saved?": "Bỏ mọi thay đổi chưa lưu?", "The agent's id": "Mã của tác tử",
  "An id has letters, digits, dashes and underscores.": "Mã gồm chữ cái, chữ số, gạch ngang và gạch dưới.", "is there already": "đã có rồi", "The files cannot be written here.": "Không ghi được tệp ở đây.",
  "Start the server with CREW_EDIT=1 to edit the files here; with CREW_EDIT=all also what lets it do more.": "Khởi động máy chủ với CREW_EDIT=1 để sửa tệp tại đây; với CREW_EDIT=all để sửa cả những gì cho phép nó làm nhiều hơn.",
  Search: "Tìm kiếm", "Search in all that was said": "Tìm trong mọi điều đã nói", "What was found": "Kết quả", "Write two letters or more.": "Hãy nhập từ hai chữ cái.", "Searching…": "Đang tìm…",
  "Nothing was found.": "Không tìm thấy gì.", "Looked back to": "Đã tìm đến", "go on": "tìm tiếp", question: "câu hỏi", answer: "câu trả lời", call: "lệnh gọi", output: "kết quả công cụ", person: "con người", error: "lỗi",
  Compare: "So sánh", "a run": "một lượt chạy", "another run": "một lượt chạy khác", "No step differs.": "Không bước nào khác.", "The first step that differs": "Bước khác đầu tiên", "They are of two revisions.": "Hai lượt chạy thuộc hai phiên bản.", "texts differ": "nội dung khác",
  Automation: "Tự động", Schedules: "Lịch", Hooks: "Hook", Channels: "Kênh báo", "crew.yaml has no schedules.": "crew.yaml không có lịch.", "crew.yaml has no hooks.": "crew.yaml không có hook.", "crew.yaml has no channels.": "crew.yaml không có kênh báo.",
  "Run now": "Chạy ngay", "It has begun": "Đã bắt đầu", "Pause it": "Tạm dừng", "Let it go on": "Cho chạy tiếp", "Paused since": "Tạm dừng từ", "Last times": "Các lần gần nhất", "by hand": "bằng tay", missed: "bị lỡ", began: "đã bắt đầu",
  Refused: "Bị từ chối", "JSON to send": "JSON để gửi", "Send it": "Gửi", "Send a test": "Gửi thử", Sent: "Đã gửi", last: "lần cuối", Waiting: "Đang chờ", "Given up": "Đã bỏ",
  next: "lần tới", "It has started no run that is kept.": "Chưa có lượt chạy nào được giữ lại.", "Last runs": "Lượt chạy gần nhất",
  Audit: "Nhật ký", action: "hành động", "all actions": "mọi hành động", "Nothing is recorded that fits.": "Không có mục nào phù hợp.", "This needs the scope admin.": "Cần quyền admin.", time: "thời gian", who: "ai", run: "lượt chạy", what: "nội dung",
  Revisions: "Phiên bản", revision: "phiên bản", "What differs": "Khác gì", number: "số", runs: "lượt chạy", warnings: "cảnh báo", "is served": "đang dùng", "at work or paused": "đang chạy hoặc chờ", "Nothing differs.": "Không có gì khác.", From: "Từ", "to what is served now": "đến bản đang dùng",
  exchange: "lượt hỏi đáp", "It is shown once there are no errors.": "Sẽ hiện khi không còn lỗi.",
  "This is answered.": "Việc này đã được trả lời.", "This revision is served; it took the place of": "Bản này đang được dùng; nó thay cho bản", Older: "Cũ hơn",
  "Why?": "Vì sao?", "Go back to it": "Quay lại bản này", start: "khởi động", reload: "tải lại", edit: "sửa", rollback: "quay lại",
  "half of them within": "một nửa trong", within: "trong", "Export as a page": "Xuất thành trang",
  running: "đang chạy", paused: "đang chờ", completed: "hoàn thành", failed: "thất bại", cancelled: "đã huỷ",
  Runs: "Lượt chạy", Inbox: "Hộp thư", Crew: "Đội", "Ask the crew": "Hỏi đội", Start: "Bắt đầu", Answer: "Trả lời",
  "looks at it now, too": "cũng đang xem", "another page": "một trang khác",
  "Nobody waits for you.": "Không ai chờ bạn.", "No runs.": "Không có lượt chạy nào.", more: "thêm", tokens: "token",
  approve: "đồng ý", deny: "từ chối", done: "đã làm xong", retry: "làm lại", skip: "bỏ qua", "send the form": "gửi biểu mẫu", "Go on with the run": "Chạy tiếp", "End the run": "Kết thúc lượt chạy",
  "The database was restored from a backup of": "Cơ sở dữ liệu được khôi phục từ bản sao lưu lúc",
  "This run was at work then: what it has done since is not known, and may be done a second time.": "Khi đó lượt chạy này đang làm việc: không rõ nó đã làm gì từ lúc ấy, và việc có thể bị làm lần nữa.",
  "Reason, if you say no": "Lý do, nếu từ chối", "Reason, or what it returned": "Lý do, hoặc kết quả đã có", "choose what is to be done": "hãy chọn cách xử lý", "Your answer": "Câu trả lời của bạn",
  "Change the arguments": "Sửa tham số", "approve this tool for the rest of this run": "đồng ý với công cụ này đến hết lượt chạy",
  "approve this call in all runs": "đồng ý với lệnh gọi này trong mọi lượt chạy", asks: "hỏi", "You": "Bạn",
  "It had started when its process ended: nobody knows whether it acted.": "Tiến trình dừng khi lệnh đã bắt đầu: không rõ lệnh đã có tác dụng chưa.",
  waits: "đã chờ", "answer within": "cần trả lời trong", effect: "tác dụng", Cancel: "Huỷ", "Run again": "Chạy lại",
  "Retry from the failed step": "Làm lại từ bước lỗi", "Copy as JSON": "Chép JSON", "Copy as curl": "Chép lệnh curl", Copied: "Đã chép",
  Rehearsals: "Diễn tập", "Play the rehearsals": "Chạy các bài diễn tập", "They are played…": "Đang chạy…", passed: "đạt", skipped: "bỏ qua", "never checked": "chưa được kiểm tra", "no rehearsal takes it": "chưa bài diễn tập nào đi qua", "Last replays": "Lần phát lại gần nhất",
  routes: "đường đi", people: "con người", limits: "giới hạn", faults: "sự cố",
  "What would today's crew do?": "Đội hôm nay sẽ làm gì?", "Keep as a rehearsal": "Giữ làm bài diễn tập", then: "khi đó", now: "bây giờ", "the same": "như cũ", "another way, for certain": "chắc chắn đi đường khác",
  "the same, if models that are sent something else say the same": "như cũ, nếu mô hình nhận nội dung khác vẫn trả lời như vậy",
  "another way, if models say the same until then": "đi đường khác, nếu đến đó mô hình vẫn trả lời như vậy",
  "not known: something is needed that is not recorded": "không rõ: thiếu dữ liệu chưa được ghi", "not known: it is no longer kept": "không rõ: không còn lưu nữa",
  "not known: the run is another one on its own files, too": "không rõ: với chính tệp của nó cũng ra khác",
  "Raw events": "Sự kiện thô", Route: "Đường đi", Plan: "Kế hoạch", Timeline: "Dòng thời gian", Conversation: "Hội thoại", "all statuses": "mọi trạng thái",
  "all agents": "mọi tác tử", "Search in questions": "Tìm trong câu hỏi", since: "từ", Agents: "Tác tử", Tools: "Công cụ", Limits: "Giới hạn",
  Providers: "Nhà cung cấp", answers: "trả lời được", "does not answer": "không trả lời", "The server does not answer.": "Máy chủ không trả lời.", loaded: "đã nạp", Warnings: "Cảnh báo",
  "Tell me when a run waits": "Báo khi có lượt chạy chờ", "A run waits for you": "Một lượt chạy đang chờ bạn", left: "còn lại", attempts: "lần thử",
  "Ask again from here": "Hỏi lại từ đây", "Answer otherwise": "Trả lời cách khác", "From here on another run than": "Từ đây là lượt chạy khác với",
  "asks a person": "cần người duyệt", Language: "Ngôn ngữ", "The connection is lost; trying again": "Mất kết nối; đang thử lại",
  "Its arguments": "Tham số", Output: "Kết quả", "This is not there.": "Không có mục này.", wait: "chờ", query: "câu hỏi",
  "is thinking": "đang nghĩ", end: "kết thúc", Conversations: "Hội thoại", conversation: "hội thoại", exchanges: "lượt hỏi đáp", used: "dùng lần cuối",
  user: "người dùng", "No conversations.": "Không có hội thoại nào.", "New conversation": "Hội thoại mới", Rename: "Đổi tên", Title: "Tên", Export: "Xuất",
  Delete: "Xoá", Send: "Gửi", "Delete this conversation with all its runs?": "Xoá hội thoại này cùng mọi lượt chạy của nó?",
  "Summary of older exchanges": "Tóm tắt các lượt cũ", "It waits for you.": "Đang chờ bạn.", "It is at work.": "Đang làm việc.", Now: "Bây giờ", "started by": "được bắt đầu bởi", "started by anything": "bắt đầu từ đâu cũng được", console: "bảng điều khiển", api: "API", schedule: "lịch", hook: "hook", fork: "bản sao",
  "The files of the crew were not taken": "Tệp của đội không được nạp", "goes on": "vẫn chạy", status: "trạng thái", agent: "tác tử", agents: "các tác tử",
  started: "bắt đầu lúc", duration: "thời gian", "the arguments are no JSON": "tham số không phải JSON",
  "This event cannot be shown": "Không hiện được sự kiện này", "This cannot be shown": "Không hiện được mục này",
  "Copy this text": "Chép đoạn này", once: "chỉ một lần", idempotent: "làm lại được", read: "chỉ đọc",
  "Attach images": "Gửi kèm ảnh", "Four images at most": "Nhiều nhất bốn ảnh", "no PNG, JPEG or WebP": "không phải PNG, JPEG hay WebP", Remove: "Bỏ",
  Documents: "Tài liệu", collection: "bộ tài liệu", "Search in documents": "Tìm trong tài liệu", "Name a conversation.": "Hãy ghi hội thoại.", "No documents.": "Chưa có tài liệu nào.",
  "No passage has these words.": "Không đoạn nào có những từ này.", characters: "ký tự", bytes: "byte", "left out": "bỏ qua", "Delete this document?": "Xoá tài liệu này?", "Choose files": "Chọn tệp",
  "Drop files here, or choose them": "Thả tệp vào đây, hoặc chọn tệp", Sources: "Nguồn", "Read, and not cited": "Đã đọc, không trích dẫn", "There is another version now.": "Nay đã có phiên bản khác.",
  received: "đã nhận", reading: "đang đọc", summarizing: "đang tóm tắt", ready: "sẵn sàng",
  Memory: "Trí nhớ", "Search in what is remembered": "Tìm trong điều đã nhớ", "with what was replaced": "kể cả điều đã được thay", "What is remembered": "Điều đã nhớ", "Nothing is remembered.": "Chưa nhớ điều gì.",
  "Name a user.": "Hãy ghi tên người dùng.", version: "phiên bản", by: "bởi", "not changed yet": "chưa sửa lần nào", Save: "Lưu", "this is no JSON": "đây không phải JSON", replaced: "đã được thay", Forget: "Quên",
  "Something to remember": "Điều cần nhớ", Remember: "Nhớ",
  output: "kết quả có kiểu", invalid: "kết quả sai", "What is wrong with it": "Chỗ sai", "What it thinks": "Suy nghĩ", "at work": "đang làm", skipped: "bỏ qua", Unknown: "Không rõ",
  "asks before it goes on": "hỏi trước khi đi tiếp", settings: "thiết lập",
  Costs: "Chi phí", Why: "Vì sao", Budgets: "Ngân sách", day: "ngày", model: "mô hình", token: "mã truy cập", calls: "lần gọi", "tokens in": "token vào", "tokens out": "token ra", "in all": "tổng cộng",
  "a day": "một ngày", "a week": "một tuần", "30 days": "30 ngày", "90 days": "90 ngày", reserved: "đã giữ chỗ", "begins again": "tính lại từ", usd: "USD",
  "No model was called yet.": "Chưa gọi mô hình nào.",
  "More runs wait; they come when some of these are answered.": "Còn lượt chạy khác đang chờ; chúng hiện ra khi một số ở đây được trả lời.",
};

const KEY = "crew.language";
const stored = localStorage.getItem(KEY);
export const locale = stored ?? (navigator.language.startsWith("vi") ? "vi" : "en");
document.documentElement.lang = locale;

// whether times are those of UTC, and not of this place
const UTC = "crew.utc";
export const isUtc = localStorage.getItem(UTC) !== null;
export const showUtc = (on) => (on ? localStorage.setItem(UTC, "1") : localStorage.removeItem(UTC));

export const t = (text) => (locale === "vi" ? VIETNAMESE[text] : undefined) ?? text;

export function choose(language) {
  localStorage.setItem(KEY, language);
  location.reload();
}

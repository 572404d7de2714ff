// Words of the server that are names: reasons, ways, actions; and the lines of steps, in the person's language.

import { locale, t } from "./words.js";

// by kind and name; what is not here is shown as the server says it
const VIETNAMESE = {
  reason: {
    terminal: "tác tử cuối đã xong", signal: "theo tín hiệu", output: "theo kết quả có kiểu", direct: "kết quả công cụ là câu trả lời", no_next_agent: "không có tác tử tiếp theo",
    paused: "đang chờ người", max_handoffs: "đạt giới hạn chuyển giao", max_rounds: "đạt giới hạn số vòng", cancelled: "đã huỷ", abandoned: "bị bỏ dở", no_answer: "không có câu trả lời",
    budget: "hết ngân sách", timeout: "quá thời gian", model: "lỗi mô hình", crashed: "tiến trình dừng giữa chừng", unplayable: "không chạy được nữa", internal: "lỗi nội bộ",
  },
  way: {
    signal: "theo tín hiệu", output: "theo kết quả có kiểu", plan: "theo kế hoạch", default: "mặc định", handoff_target: "đích chuyển giao", order: "theo thứ tự", group: "cả nhóm xong", member: "thành viên", no_answer: "không có câu trả lời",
  },
  edge: { next: "tác tử tiếp theo", "no next": "không có tác tử tiếp theo", terminal: "kết thúc lượt chạy", default: "mặc định", then: "sau đó", target: "đích chuyển giao" },
  act: {
    start: "bắt đầu", answer: "trả lời", cancel: "huỷ", retry: "làm lại", fork: "tạo bản sao", delete: "xoá", reload: "tải lại", edit: "sửa tệp", rollback: "quay lại bản cũ", budget: "thêm ngân sách",
    schedule: "lịch", test: "gửi thử", revoke: "thu hồi", memory: "ghi nhớ", export: "xuất", erase: "xoá người dùng", document: "tài liệu", refused: "bị từ chối", wrong_token: "sai mã truy cập",
  },
  news: { pause: "có lượt chạy chờ", failed: "thất bại", done: "xong", deadline: "quá hạn trả lời", missed: "lỡ lịch", budget: "ngân sách", changed: "tệp đã đổi", storage: "dung lượng" },
  status: { success: "thành công", error: "lỗi", timeout: "quá thời gian", denied: "bị từ chối", cancelled: "đã huỷ", unknown: "không rõ" },
};

export const named = (kind, name) => (locale === "vi" && Object.hasOwn(VIETNAMESE[kind], name) ? VIETNAMESE[kind][name] : name);

// lines that the server writes of steps; the names in them stay
const LINES = [
  [/^(.+) answers, calls (.+)$/, (who, tools) => `${who} trả lời, gọi ${tools}`],
  [/^a person answers$/, () => "người trả lời"],
  [/^(.+) answers$/, (who) => `${who} trả lời`],
  [/^(.+) calls (.+)$/, (who, tool) => `${who} gọi ${tool}`],
  [/^(.+) begins: (.+)$/, (group, who) => `${group} bắt đầu: ${who}`],
  [/^(.+) begins$/, (who) => `${who} bắt đầu`],
  [/^goes on, only to end$/, () => "chạy tiếp, chỉ để kết thúc"],
  [/^goes on: no answer came in time$/, () => "chạy tiếp: không có câu trả lời đúng hạn"],
  [/^goes on: a person has answered$/, () => "chạy tiếp: đã có người trả lời"],
  [/^waits for a person's decision$/, () => "chờ người quyết định"],
  [/^waits for more money, or tokens$/, () => "chờ thêm tiền hoặc token"],
  [/^waits, since its database was restored$/, () => "chờ, vì cơ sở dữ liệu đã được khôi phục"],
  [/^(.+) waits for a person$/, (who) => `${who} chờ người`],
  [/^(.+) is shown (.+) of (.+) tokens$/, (who, some, all) => `${who} được xem ${some} trên ${all} token`],
  [/^ends?: (.+)$/, (reason) => `kết thúc: ${named("reason", reason)}`],
  [/^fails: (\w+) \((.+)\)$/, (reason, code) => `thất bại: ${named("reason", reason)} (${code})`],
  [/^the run fails$/, () => "lượt chạy thất bại"],
  [/^(.+) → (.+) by (.+)$/, (from, to, signal) => `${from} → ${to} theo ${signal}`],
  [/^(.+) ends: (\w+)$/, (tool, status) => `${tool} kết thúc: ${named("status", status)}`],
  [/^not reached: would have gone to (.+)$/, (who) => `chưa xét tới: lẽ ra đến ${who}`],
  [/^not reached: would have waited for a person$/, () => "chưa xét tới: lẽ ra chờ người"],
  [/^not reached: would have ended the run$/, () => "chưa xét tới: lẽ ra kết thúc lượt chạy"],
  [/^go to (.+)$/, (who) => `đến ${who}`],
  [/^wait for a person$/, () => "chờ người"],
  [/^end the run$/, () => "kết thúc lượt chạy"],
  [/^none of (.+) is in the answer$/, (signals) => `câu trả lời không có tín hiệu nào trong ${signals}`],
  [/^there is no typed answer$/, () => "không có câu trả lời có kiểu"],
  [/^no route fits it$/, () => "không đường đi nào khớp"],
  [/^it does not apply$/, () => "không áp dụng"],
  [/^(\S+) in "([^]*)", place (\d+)$/, (signal, words, place) => `${signal} trong "${words}", vị trí ${place}`],
  [/^(.+): (success|error|timeout|denied|cancelled|unknown)$/, (tool, status) => `${tool}: ${named("status", status)}`],
];

export function line(text) {
  if (locale !== "vi") return text;
  for (const [pattern, said] of LINES) {
    const found = pattern.exec(text);
    if (found) return said(...found.slice(1));
  }
  return text;
}

// what is asked about calls, as exchanges have it
export const asked = (text) => text.replace(/^approve\?/, `${t("Approve")}?`);

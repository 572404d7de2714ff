"""Texts of many kinds, as models are shown them: each is repeated with changes by the tests."""

import base64
import hashlib
import json

ROWS = [
    {"host": f"db-{n:02}.example.org", "cpu": n * 7.25 % 100, "ok": n % 3 != 0, "tags": ["eu", "x"]}
    for n in range(24)
]
DIGEST = hashlib.sha256(b"texts").digest()

TEXTS = {
    "English": "The database was restarted at noon because its disk was nearly full. Nobody noticed "
    "anything, although several requests took longer than usual; the operators will look at the "
    "graphs tomorrow morning and decide whether a larger volume is necessary.",
    "German": "Die Datenbank wurde gegen Mittag neu gestartet, weil die Festplatte fast voll war. "
    "Niemand bemerkte etwas, obwohl mehrere Anfragen länger dauerten als gewöhnlich; die "
    "Verantwortlichen schauen sich morgen früh die Auswertungen an.",
    "French": "La base de données a été redémarrée vers midi parce que le disque était presque plein. "
    "Personne n'a rien remarqué, même si plusieurs requêtes ont été plus longues que d'habitude ; "
    "l'équipe regardera les courbes demain matin.",
    "Spanish": "La base de datos se reinició al mediodía porque el disco estaba casi lleno. Nadie notó "
    "nada, aunque varias peticiones tardaron más de lo habitual; mañana por la mañana el equipo "
    "mirará las gráficas y decidirá si hace falta más espacio.",
    "Vietnamese": "Cơ sở dữ liệu đã được khởi động lại vào buổi trưa vì ổ đĩa gần như đã đầy. Không ai "
    "nhận ra điều gì, mặc dù một số yêu cầu mất nhiều thời gian hơn bình thường; sáng mai những "
    "người trực sẽ xem biểu đồ và quyết định.",
    "Russian": "База данных была перезапущена около полудня, потому что диск был почти заполнен. Никто "
    "ничего не заметил, хотя некоторые запросы выполнялись дольше обычного; завтра утром дежурные "
    "посмотрят на графики и решат, нужен ли больший том.",
    "Chinese": "数据库在中午重新启动，因为磁盘几乎已满。虽然有几个请求比平时花费了更长的时间，但没有人注意到任何问题；"
    "运维人员明天早上会查看图表，并决定是否需要更大的卷。",
    "Japanese": "ディスクがほぼ満杯だったため、データベースは正午ごろに再起動されました。いくつかのリクエストに普段より時間が"
    "かかりましたが、誰も気づきませんでした。担当者は明日の朝にグラフを確認します。",
    "Korean": "디스크가 거의 가득 찼기 때문에 데이터베이스가 정오에 다시 시작되었습니다. 몇몇 요청이 평소보다 오래 걸렸지만 "
    "아무도 눈치채지 못했습니다. 담당자들은 내일 아침에 그래프를 확인할 것입니다.",
    "Arabic": "أعيد تشغيل قاعدة البيانات عند الظهر لأن القرص كان ممتلئا تقريبا. لم يلاحظ أحد شيئا، رغم أن "
    "بعض الطلبات استغرقت وقتا أطول من المعتاد؛ سينظر الفريق إلى الرسوم البيانية صباح الغد.",
    "Python": 'def restart(host: str, *, wait_seconds: float = 5.0) -> bool:\n    """Restart."""\n'
    "    for attempt in range(3):\n        if ping(host, timeout=wait_seconds / 2):\n"
    "            return True\n        sleep(2**attempt)\n    raise HostDown(f'{host} is down')\n",
    "Go": "func (r *Runner) Step(ctx context.Context, in Input) (Output, error) {\n\tif err := "
    'ctx.Err(); err != nil {\n\t\treturn Output{}, fmt.Errorf("step: %w", err)\n\t}\n\tout, err := '
    "r.model.Ask(ctx, in.Messages...)\n\treturn Output{Text: out, Rounds: r.rounds + 1}, err\n}\n",
    "JSON": json.dumps(ROWS[:6]),
    "indented JSON": json.dumps(ROWS[:4], indent=2),
    "CSV": "\n".join(
        f"{r['host']},{r['cpu']},{r['ok']},2026-11-{n:02}" for n, r in enumerate(ROWS)
    ),
    "log": "\n".join(
        f"2026-11-25T0{n % 10}:1{n % 6}:07.{n * 37 % 1000:03}Z INFO crew.access 10.0.{n}.17 GET "
        f"/api/crew/runs/{n * 7919:08x} 200 in 0.0{n % 10}3 s"
        for n in range(12)
    ),
    "hex": "\n".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(8)),
    "base64": base64.b64encode(
        b"".join(hashlib.sha256(bytes([n])).digest() for n in range(8))
    ).decode(),
    "digits": " ".join(str(n * 7919 % 1_000_003) for n in range(60)),
    "YAML": "agents:\n  - id: triage\n    name: Triage\n    tools: [ping, disk_usage]\n"
    "    handoff_targets:\n      - database\n      - web\nsettings:\n  max_rounds: 12\n",
    "addresses": "\n".join(
        f"https://status.example.org/incidents/{n * 7919}?from=2026-11-{n + 1:02}&tz=UTC"
        for n in range(8)
    ),
    "a table": "| host | cpu | state |\n| --- | ---: | --- |\n"
    + "\n".join(
        f"| `{r['host']}` | {r['cpu']} % | **{'ok' if r['ok'] else 'DOWN'}** |" for r in ROWS[:10]
    ),
    "ps aux": "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
    + "\n".join(
        f"postgres {n * 311:>7}  0.{n}  1.{n} {n * 8123:>6} {n * 1201:>5} ?        Ss   0{n}:00   0:0{n} postgres: writer"
        for n in range(1, 9)
    ),
}

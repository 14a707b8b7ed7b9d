// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/add_machine_dialog.h"

#include <QCloseEvent>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QShortcut>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/units.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kDialogWidth = 640;

QString byte_text(double bytes) { return as_text(base::format_bytes(bytes)); }

// Returns the command that prints the fingerprint of the host key on the machine itself.
QString fingerprint_command(const QString& kind) {
  return QString("ssh-keygen -l -f /etc/ssh/ssh_host_%1_key.pub").arg(kind.toLower());
}

}  // namespace

AddMachineDialog::AddMachineDialog(const Services& services, JoinedMachines& joined,
                                   const QStringList& suggestions, const QString& address,
                                   QWidget* parent)
    : QDialog(parent), services_(services), invite_(new InvitePage(services, joined, this)) {
  setWindowTitle(tr("Add machine"));
  setObjectName("add_machine");
  build();
  auto* completer = new QCompleter(suggestions, this);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  address_->setCompleter(completer);
  const bool joins = is_joined_address(address);
  if (!joins) address_->setText(address);
  connect_signals();
  show_state(State::address, tr("Which machine?"),
             tr("Its address as ssh accepts it: USER@HOST, HOST, or a name in ~/.ssh/config. The "
                "machine needs Linux and an ssh server."),
             tr("Add"));
  set_way(joins ? Way::invitation : Way::ssh);
  show_way();
}

void AddMachineDialog::connect_signals() {
  connect(tabs_, &QTabBar::currentChanged, this, &AddMachineDialog::show_way);
  connect(address_, &QLineEdit::textChanged, this, &AddMachineDialog::enable);
  connect(accept_, &QPushButton::clicked, this, &AddMachineDialog::proceed);
  connect(cancel_, &QPushButton::clicked, this, &AddMachineDialog::reject);
  connect(&process_, &HostsProcess::line_read, this, &AddMachineDialog::read);
  connect(&process_, &HostsProcess::ended, this, &AddMachineDialog::finish);
  connect(invite_, &InvitePage::changed, this, [this] {
    show_buttons();
    grow();
  });
  connect(invite_, &InvitePage::chosen, this, &AddMachineDialog::added);
  connect(invite_, &InvitePage::problem_changed, this,
          [this](const std::optional<base::Problem>& problem) {
            if (way() == Way::invitation) set_manual_problem(this, problem);
          });
  connect(new QShortcut(QKeySequence("F1"), this), &QShortcut::activated, this,
          &AddMachineDialog::help_requested);
}

void AddMachineDialog::build() {
  auto* column = new QVBoxLayout(this);
  column->setSpacing(kGrid);
  column->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  column->addWidget(tabs_ = new QTabBar(this));
  tabs_->addTab(tr("By ssh"));
  tabs_->addTab(tr("By invitation"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("Way to add the machine"));
  column->addWidget(ssh_ = build_ssh(), 1);
  column->addWidget(invite_, 1);
  auto* buttons = new QDialogButtonBox(this);
  accept_ = buttons->addButton(tr("Add"), QDialogButtonBox::ActionRole);
  cancel_ = buttons->addButton(QDialogButtonBox::Cancel);
  accept_->setDefault(true);
  column->addWidget(buttons);
  setMinimumWidth(Theme::instance().pixels(kDialogWidth));
}

QWidget* AddMachineDialog::build_ssh() {
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  column->setSpacing(kGrid);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(heading_ = new TintedLabel(TextColor::text, page, 1.15, true));
  heading_->setWordWrap(true);
  heading_->setTextFormat(Qt::PlainText);
  column->addWidget(text_ = paragraph(TextColor::text, page));
  column->addWidget(commands_ = new QPlainTextEdit(page));
  commands_->setReadOnly(true);
  commands_->setTabChangesFocus(true);
  commands_->setLineWrapMode(QPlainTextEdit::NoWrap);
  commands_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  commands_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  commands_->setAccessibleName(tr("Commands to run"));
  column->addWidget(note_ = paragraph(TextColor::dim, page));
  column->addWidget(address_ = new QLineEdit(page));
  address_->setPlaceholderText("user@host");
  address_->setAccessibleName(tr("Address of the machine"));
  column->addWidget(bar_ = new QProgressBar(page));
  bar_->setAccessibleName(tr("Progress of the addition"));
  bar_->setTextVisible(false);
  column->addStretch(1);
  return page;
}

void AddMachineDialog::set_way(Way way) { tabs_->setCurrentIndex(way == Way::ssh ? 0 : 1); }

AddMachineDialog::Way AddMachineDialog::way() const {
  return tabs_->currentIndex() == 0 ? Way::ssh : Way::invitation;
}

void AddMachineDialog::show_way() {
  const bool is_ssh = way() == Way::ssh;
  ssh_->setVisible(is_ssh);
  invite_->setVisible(!is_ssh);
  set_manual_problem(this, std::nullopt);
  set_manual_topic(this, is_ssh ? "several_machines.md#add-a-machine"
                                : "several_machines.md#machines-that-ssh-cannot-reach");
  show_buttons();
  grow();
  // Otherwise Cancel would get the focus of the hidden field.
  if (!tabs_->hasFocus()) (is_ssh ? static_cast<QWidget*>(address_) : invite_)->setFocus();
}

// Shows the buttons of the current tab and state.
void AddMachineDialog::show_buttons() {
  using Invite = InvitePage::State;
  const bool is_ssh = way() == Way::ssh;
  const Invite invite = invite_->state();
  accept_->setText(is_ssh                   ? proceed_text_
                   : invite == Invite::form ? tr("Invite")
                                            : tr("New invitation"));
  accept_->setVisible(is_ssh ? !proceed_text_.isEmpty() : invite != Invite::asking);
  const bool closes = !is_ssh && (invite == Invite::invited || invite == Invite::over);
  cancel_->setText(closes ? tr("Close") : tr("Cancel"));
  (closes ? cancel_ : accept_)->setDefault(true);
  tabs_->setEnabled(is_ssh ? state_ == State::address : invite != Invite::asking);
  enable();
}

QString AddMachineDialog::text() const {
  QStringList parts;
  for (const TintedLabel* label : {heading_, text_, note_})
    if (!label->isHidden()) parts << label->text();
  return parts.join("\n");
}

QString AddMachineDialog::commands() const {
  return commands_->isHidden() ? QString() : commands_->toPlainText();
}

// Continues with the next step: connects, or answers the question with yes.
void AddMachineDialog::proceed() {
  if (way() == Way::invitation)
    return invite_->state() == InvitePage::State::form ? invite_->invite() : invite_->show_form();
  switch (state_) {
    case State::address: return connect_to(address_->text().trimmed());
    case State::host_key:
      process_.answer(true);
      return show_state(State::connecting, tr("Connecting to %1 ...").arg(destination_),
                        tr("The host key is trusted."));
    case State::agent: process_.answer(true); return show_progress(0, 0);
    case State::connecting:
    case State::copying: break;
  }
}

void AddMachineDialog::connect_to(const QString& address) {
  if (address.isEmpty()) return;
  destination_ = address;
  machine_.reset();
  show_state(State::connecting, tr("Connecting to %1 ...").arg(address),
             tr("ssh connects to the machine and starts Trainyard's agent there."));
  process_.start(services_, {"add", address, "--ask"});
}

void AddMachineDialog::read(const HostsLine& line) {
  if (line.type == "question" && line.subject == "host_key") ask_about_key(line);
  else if (line.type == "question" && line.subject == "agent") ask_about_agent(line);
  else if (line.type == "question") process_.answer(false);  // asked by a newer version
  else if (line.type == "progress") show_progress(line.sent_bytes, line.total_bytes);
  else if (line.type == "result" && line.status == "completed") machine_ = line.machine();
}

void AddMachineDialog::ask_about_key(const HostsLine& question) {
  const QString kind = as_text(question.kind);
  show_state(State::host_key, tr("Is this the host key of %1?").arg(destination_),
             tr("ssh connects to this machine for the first time. The fingerprint of its %1 host "
                "key is:")
                 .arg(kind),
             tr("Trust this key"));
  show_commands(as_text(question.fingerprint),
                tr("Compare it with the one that this command prints on the machine. If they "
                   "differ, another machine answers.\n%1\nA trusted key is added to ssh's file of "
                   "known hosts.")
                    .arg(fingerprint_command(kind)));
}

void AddMachineDialog::ask_about_agent(const HostsLine& question) {
  show_state(State::agent, tr("Copy Trainyard's agent to %1?").arg(destination_),
             tr("This build of the agent, which starts ranks, is not on the machine yet. It is "
                "copied to ~/.cache/trainyard/agents there (%1, %2) and needs no rights of the "
                "system.")
                 .arg(as_text(question.name), byte_text(question.bytes)),
             tr("Copy agent"));
}

void AddMachineDialog::show_progress(double sent_bytes, double total_bytes) {
  show_state(State::copying, tr("Copying the agent to %1 ...").arg(destination_),
             total_bytes > 0 ? tr("%1 of %2").arg(byte_text(sent_bytes), byte_text(total_bytes))
                             : tr("The copy starts."));
  if (total_bytes <= 0) return;
  const bool sent = sent_bytes >= total_bytes;  // the machine unpacks and verifies the copy
  if (sent) text_->setText(tr("The machine unpacks and verifies the copy."));
  bar_->setRange(0, sent ? 0 : 1000);
  bar_->setValue(static_cast<int>(1000 * sent_bytes / total_bytes));
}

void AddMachineDialog::finish(const base::Problems& problems) {
  if (problems.empty() && machine_) {
    emit added(*machine_);
    return accept();
  }
  show_problem(problems.empty() ? base::Problem{} : problems.front());
}

void AddMachineDialog::show_problem(const base::Problem& problem) {
  const bool refused = problem.id == "login_refused";
  QString text = as_text(problem.what);
  if (!text.isEmpty()) text = text.left(1).toUpper() + text.mid(1) + ".";
  if (!problem.advice.empty() && !refused) text += "\n" + as_text(problem.advice);
  show_state(State::address, tr("%1 was not added").arg(destination_), text, tr("Try again"));
  set_manual_problem(this, problem);
  heading_->set_tint(TextColor::error);
  if (!refused) return;
  show_commands("ssh-keygen -t ed25519\nssh-copy-id " + destination_,
                tr("Run these commands in a terminal. The first one makes a key, if you have none. "
                   "The second one asks for your password on the machine and copies the key."));
}

// Shows a state with a button that accepts. Without `accept`, shows that the dialog waits.
void AddMachineDialog::show_state(State state, const QString& heading, const QString& text,
                                  const QString& accept) {
  const bool same = state == state_ && isVisible();
  state_ = state;
  set_manual_problem(this, std::nullopt);
  heading_->set_tint(TextColor::text);
  heading_->setText(heading);
  text_->setText(text);
  note_->hide();
  commands_->hide();
  address_->setVisible(state == State::address);
  bar_->setVisible(state == State::connecting || state == State::copying);
  bar_->setRange(0, 0);
  proceed_text_ = accept;
  show_buttons();
  grow();
  if (same) return;
  if (state == State::address) address_->setFocus();
  else if (accept.isEmpty()) cancel_->setFocus();
  else if (state == State::agent) accept_->setFocus();
  else cancel_->setFocus();  // a key is not trusted by pressing Enter by mistake
}

// Shows lines that the user can copy, in a fixed-width font, and an explanation below them.
void AddMachineDialog::show_commands(const QString& commands, const QString& note) {
  commands_->setFont(Theme::instance().fixed_font());
  commands_->setPlainText(commands);
  const int lines = static_cast<int>(commands.count('\n')) + 1;
  const QFontMetrics metrics(commands_->font());
  commands_->setFixedHeight(lines * metrics.lineSpacing() + 2 * kGrid);
  commands_->show();
  note_->setText(note);
  note_->show();
  grow();
}

// Makes the dialog high enough for its texts.
void AddMachineDialog::grow() {
  layout()->activate();
  const int wide = std::max(width(), minimumWidth()), high = layout()->totalHeightForWidth(wide);
  if (high > height() || !isVisible()) resize(wide, high);
}

void AddMachineDialog::enable() {
  accept_->setEnabled(way() == Way::invitation || state_ != State::address ||
                      !address_->text().trimmed().isEmpty());
}

void AddMachineDialog::reject() {
  if (invite_->state() == InvitePage::State::asking) return invite_->cancel();
  if (!process_.running()) return QDialog::reject();
  process_.cancel();
  show_state(State::address, tr("%1 was not added").arg(destination_),
             tr("The addition was canceled."), tr("Try again"));
}

void AddMachineDialog::closeEvent(QCloseEvent* event) {
  process_.cancel();
  invite_->cancel();
  QDialog::closeEvent(event);
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/invite_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "core/base/printable.h"
#include "core/session/hosts/invitation.h"
#include "ui/machines/qr_code_view.h"
#include "ui/model/runs/services.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

// Ranges of the options of `hosts listen`.
constexpr int kMostInvited = 1000, kMostHours = 24 * 365;
constexpr int kTableRows = 4;  // number of rows that are visible at least

enum JoinedColumn { machine_column, cores_column, memory_column, contact_column };

// Returns text of another machine on one line, without control characters.
QString line_of(const std::string& text) { return as_text(base::printable_line(text)); }

// "17:42", or with the date if it is not today
QString time_text(const QDateTime& time) {
  return time.toString(time.date() == QDate::currentDate() ? "HH:mm" : "yyyy-MM-dd HH:mm");
}

QString sentence_of(const std::string& text) {
  QString sentence = as_text(text);
  if (!sentence.isEmpty()) sentence = sentence.left(1).toUpper() + sentence.mid(1) + ".";
  return sentence;
}

// Returns the addresses of the machines of all rows, or of those that are selected.
QStringList addresses_in(const QTreeWidget& table, bool selected) {
  QStringList addresses;
  for (int row = 0; row < table.topLevelItemCount(); ++row)
    if (const QTreeWidgetItem& item = *table.topLevelItem(row); !selected || item.isSelected())
      addresses << item.data(machine_column, Qt::UserRole).toString();
  return addresses;
}

}  // namespace

InvitePage::InvitePage(const Services& services, JoinedMachines& joined, QWidget* parent)
    : QWidget(parent), services_(services), joined_(&joined) {
  build();
  const std::vector<OwnAddress> addresses =
      services.own_addresses ? services.own_addresses() : std::vector<OwnAddress>();
  for (const OwnAddress& one : addresses)
    address_->addItem(QString("%1 (%2)").arg(one.address, one.interface), one.address);
  const bool has_choice = address_->count() > 1;
  rows_->setRowVisible(address_, has_choice);
  setFocusProxy(has_choice ? static_cast<QWidget*>(address_) : machines_);
  connect(&process_, &HostsProcess::line_read, this, &InvitePage::read);
  connect(&process_, &HostsProcess::ended, this, &InvitePage::finish);
  connect(&withdrawal_, &HostsProcess::ended, this, [this](const base::Problems& problems) {
    joined_->refresh();
    if (!problems.empty())
      return show_problem(tr("The invitation was not withdrawn"), problems.front());
    show_state(State::form, tr("The invitation was withdrawn"),
               tr("No machine can join by it any more."));
  });
  connect(&joined, &JoinedMachines::changed, this, [this] {
    fill_table();
    follow_invitation();
    emit changed();
  });
  fill_table();
  show_form();
}

void InvitePage::build() {
  auto* column = new QVBoxLayout(this);
  column->setSpacing(kGrid);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(heading_ = new TintedLabel(TextColor::text, this, 1.15, true));
  heading_->setWordWrap(true);
  heading_->setTextFormat(Qt::PlainText);
  column->addWidget(text_ = paragraph(TextColor::text, this));
  column->addWidget(form_ = build_form());
  column->addWidget(invitation_ = build_invitation());
  auto* row = new QHBoxLayout;
  row->setSpacing(2 * kGrid);
  row->addWidget(qr_code_ = new QrCodeView(this), 0, Qt::AlignTop);
  row->addWidget(joined_box_ = build_joined(), 1);
  column->addLayout(row, 1);
  column->addStretch();
}

QWidget* InvitePage::build_form() {
  auto* form = new QWidget(this);
  rows_ = new QFormLayout(form);
  rows_->setContentsMargins(0, 0, 0, 0);
  rows_->setRowWrapPolicy(QFormLayout::WrapLongRows);
  const auto add = [this](const QString& label, QWidget* field, const QString& help) {
    rows_->addRow(label, field);
    field->setAccessibleName(label);
    field->setAccessibleDescription(help);
    field->setToolTip(help);
  };
  add(tr("Address of this machine"), address_ = new QComboBox(form),
      tr("The other machines connect to this address. All machines of its network can reach the "
         "port, but only invited ones are admitted"));
  add(tr("Machines"), machines_ = new QSpinBox(form), tr("Machines that the invitation admits"));
  add(tr("Hours"), hours_ = new QSpinBox(form),
      tr("Hours until the invitation expires; machines that have joined stay"));
  machines_->setRange(1, kMostInvited);
  hours_->setRange(1, kMostHours);
  return form;
}

QWidget* InvitePage::build_invitation() {
  auto* invitation = new QWidget(this);
  auto* column = new QVBoxLayout(invitation);
  column->setSpacing(kGrid);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(command_ = new QLabel(invitation));
  command_->setTextFormat(Qt::PlainText);
  command_->setWordWrap(true);
  command_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  command_->setFrameShape(QFrame::StyledPanel);
  command_->setBackgroundRole(QPalette::Base);
  command_->setAutoFillBackground(true);
  command_->setMargin(kGrid / 2);
  command_->setAccessibleName(tr("Command to run on the other machine"));
  const auto fit = [this] { command_->setFont(Theme::instance().fixed_font()); };
  connect(&Theme::instance(), &Theme::changed, command_, fit);
  fit();
  auto* row = new QHBoxLayout;
  row->addWidget(copy_ = new QPushButton(icon("copy"), tr("Copy"), invitation));
  row->addWidget(withdraw_ = new QPushButton(tr("Withdraw"), invitation));
  row->addStretch(1);
  column->addLayout(row);
  column->addWidget(note_ = paragraph(TextColor::dim, invitation));
  copy_->setToolTip(tr("Copy the command to the clipboard"));
  withdraw_->setToolTip(tr("Admit no more machines by this invitation; those that joined stay"));
  connect(copy_, &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(command()); });
  connect(withdraw_, &QPushButton::clicked, this, &InvitePage::withdraw);
  return invitation;
}

QWidget* InvitePage::build_joined() {
  auto* joined = new QWidget(this);
  auto* column = new QVBoxLayout(joined);
  column->setSpacing(kGrid);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(none_ = paragraph(TextColor::dim, joined, tr("No machine has joined yet.")));
  none_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  column->addWidget(table_ = new QTreeWidget(joined), 1);
  table_->setHeaderLabels({tr("Joined machine"), tr("Cores"), tr("Memory"), tr("State")});
  table_->setRootIsDecorated(false);
  table_->setUniformRowHeights(true);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->setAccessibleName(tr("Joined machines"));
  table_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
  table_->header()->setStretchLastSection(true);
  table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  auto* row = new QHBoxLayout;
  row->addWidget(draw_ = new QPushButton(icon("host"), tr("Draw host"), joined));
  row->addStretch(1);
  column->addLayout(row);
  draw_->setToolTip(
      tr("Draw the selected machines as hosts with their cores and memory (Enter in the list)"));
  const auto fit = [this] {
    const int row_height = table_->fontMetrics().height() + kGrid;
    table_->setMinimumHeight((kTableRows + 1) * row_height);
  };
  connect(&Theme::instance(), &Theme::changed, table_, fit);
  fit();
  connect(draw_, &QPushButton::clicked, this, &InvitePage::draw_chosen);
  connect(table_, &QTreeWidget::itemDoubleClicked, this, &InvitePage::draw_chosen);
  connect(table_, &QTreeWidget::itemSelectionChanged, this,
          [this] { draw_->setEnabled(!table_->selectedItems().isEmpty()); });
  // Otherwise the key would also press the default button of the dialog.
  for (const int key : {Qt::Key_Return, Qt::Key_Enter})
    connect(new QShortcut(QKeySequence(key), table_, nullptr, nullptr, Qt::WidgetShortcut),
            &QShortcut::activated, this, &InvitePage::draw_chosen);
  return joined;
}

QString InvitePage::text() const {
  QStringList parts;
  for (const QLabel* label : {heading_, text_, note_, none_})
    if (label->isVisibleTo(this)) parts << label->text();
  return parts.join("\n");
}

QString InvitePage::command() const {
  return state_ == State::invited ? command_->text() : QString();
}

void InvitePage::show_form() {
  show_state(State::form, tr("Invite a machine"),
             tr("For a machine without an ssh server, or behind a router that translates addresses "
                "(NAT). It connects to this machine, which opens one port for it."));
}

void InvitePage::invite() {
  if (state_ != State::form) return;
  QStringList arguments{"listen"};
  if (address_->count() > 0) arguments << "--address" << address_->currentData().toString();
  arguments << "--machines" << QString::number(machines_->value());
  arguments << "--hours" << QString::number(hours_->value()) << "--json";
  invited_ = {};
  show_state(State::asking, tr("Making an invitation ..."),
             tr("The listener starts, if it does not run yet."));
  process_.start(services_, arguments);
}

void InvitePage::cancel() {
  process_.cancel();
  if (state_ == State::asking) show_form();
}

void InvitePage::withdraw() {
  withdraw_->setEnabled(false);
  withdrawal_.start(services_, {"withdraw", as_text(invited_.invitation), "--json"});
}

void InvitePage::read(const HostsLine& line) {
  if (line.type == "result" && line.status == "completed") invited_ = line;
}

void InvitePage::finish(const base::Problems& problems) {
  if (problems.empty() && !invited_.invitation.empty()) return show_invitation();
  state_ = State::form;
  show_problem(tr("The invitation was not made"),
               problems.empty() ? base::Problem{} : problems.front());
}

void InvitePage::show_invitation() {
  expires_ = QDateTime::currentDateTime().addSecs(static_cast<qint64>(invited_.seconds));
  is_listed_ = false;
  command_->setText("trainyard-agent join " + as_text(invited_.invitation));
  withdraw_->setEnabled(true);
  qr_code_->set_modules(invited_.qr_code);
  note_->setText(note_text(invited_.machines));
  show_state(State::invited,
             invited_.machines == 1 ? tr("Run this command on the other machine")
                                    : tr("Run this command on the other machines"),
             tr("Trainyard must be installed there, or agent.tar.gz of this build unpacked. The "
                "command asks for consent, and runs until the machine leaves."));
  copy_->setFocus();
  follow_invitation();
  joined_->refresh();
}

// "The invitation admits 2 machines until 17:42 ..."
QString InvitePage::note_text(std::int64_t machines) const {
  QString note = tr("The invitation admits %n machine(s) until %1, also after this dialog is "
                    "closed.",
                    nullptr, plural(machines))
                     .arg(time_text(expires_));
  const QString wanted = address_->currentData().toString();
  const auto invitation = session::invitation_from(invited_.invitation);
  if (!wanted.isEmpty() && invitation && as_text(invitation->host) != wanted)
    note += "\n" + tr("The listener runs already, at another address. To use %1, end it with "
                      "trainyard-cli hosts listen --stop.")
                       .arg(wanted);
  return note;
}

// Shows how many machines the invitation still admits.
void InvitePage::follow_invitation() {
  if (state_ != State::invited) return;
  const auto& valid = joined_->invitations();
  const auto at =
      std::ranges::find(valid, as_text(invited_.invitation), &ValidInvitation::invitation);
  if (at != valid.end()) {
    is_listed_ = true;
    note_->setText(note_text(at->machines));
  } else if (std::exchange(is_listed_, false)) {
    const bool had_focus = invitation_->isAncestorOf(QApplication::focusWidget());
    show_state(State::over, tr("The invitation admits no more machines"),
               tr("All of its machines have joined, or it has expired."));
    if (had_focus) table_->setFocus();
  }
}

void InvitePage::show_problem(const QString& heading, const base::Problem& problem) {
  QString text = sentence_of(problem.what);
  if (!problem.advice.empty()) text += "\n" + as_text(problem.advice);
  withdraw_->setEnabled(true);
  show_state(state_, heading, text);
  heading_->set_tint(TextColor::error);
  emit problem_changed(problem);
}

void InvitePage::show_state(State state, const QString& heading, const QString& text) {
  state_ = state;
  emit problem_changed(std::nullopt);
  heading_->set_tint(TextColor::text);
  heading_->setText(heading);
  text_->setText(text);
  form_->setVisible(state == State::form || state == State::asking);
  form_->setEnabled(state == State::form);
  invitation_->setVisible(state == State::invited);
  qr_code_->setVisible(state == State::invited && !qr_code_->is_empty());
  fill_table();
  emit changed();
  if (state == State::form && isVisible()) setFocus();
}

// Adds and removes rows only if other machines are listed, so that rows keep selection and focus.
void InvitePage::fill_table() {
  const std::vector<JoinedMachine>& machines = joined_->machines();
  const QStringList rows = addresses_in(*table_, false);
  if (!std::ranges::equal(machines, rows, {}, [](const JoinedMachine& one) {
        return as_text(one.machine.destination);
      }))
    list_machines();
  for (int row = 0; row < table_->topLevelItemCount(); ++row) {
    const JoinedMachine& one = machines[static_cast<std::size_t>(row)];
    QTreeWidgetItem& item = *table_->topLevelItem(row);
    const QString contact = contact_text(one);
    item.setText(machine_column, line_of(one.machine.host));
    item.setText(cores_column, grouped(one.machine.cores));
    item.setText(memory_column, size_text(one.machine.memory_bytes));
    item.setText(contact_column, contact.isEmpty() ? tr("ready") : contact);
    item.setIcon(contact_column, icon(contact.isEmpty() ? "ok" : "warning"));
  }
  const bool any = !machines.empty();
  table_->setVisible(any);
  draw_->setVisible(any);
  none_->setVisible(!any);
  joined_box_->setVisible(any || state_ == State::invited || state_ == State::over);
}

// Replaces the rows. Selects the machines that were selected, otherwise the first one.
void InvitePage::list_machines() {
  const QStringList selected = addresses_in(*table_, true);
  table_->clear();
  for (const JoinedMachine& one : joined_->machines()) {
    auto* item = new QTreeWidgetItem(table_);
    const QString address = as_text(one.machine.destination);
    item->setData(machine_column, Qt::UserRole, address);
    item->setTextAlignment(cores_column, Qt::AlignRight | Qt::AlignVCenter);
    item->setTextAlignment(memory_column, Qt::AlignRight | Qt::AlignVCenter);
    item->setSelected(selected.contains(address));
  }
  if (table_->selectedItems().isEmpty()) table_->setCurrentItem(table_->topLevelItem(0));
  draw_->setEnabled(!table_->selectedItems().isEmpty());
}

void InvitePage::draw_chosen() {
  const QStringList selected = addresses_in(*table_, true);
  const std::vector<JoinedMachine> machines = joined_->machines();  // it may change meanwhile
  for (const JoinedMachine& one : machines)
    if (selected.contains(as_text(one.machine.destination))) emit chosen(one.machine);
}

void InvitePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  joined_->set_frequent(true);
}

void InvitePage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  if (joined_) joined_->set_frequent(false);
}

}  // namespace trainyard::ui

// Pinocchio's algorithms over many states, for the native column of the benchmarks.
//
// The model comes as plain arrays and the templates are instantiated here, so nothing of the wheel's own
// library, which is built for another instruction set, is linked. Each function reads rows of C-ordered
// arrays and writes what Pinocchio computes as it lies in memory: half-filled symmetric matrices stay half
// filled, and the mass matrix and the Jacobian are stored by columns.

#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/delassus.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include <vector>

namespace pin = pinocchio;

using Row = Eigen::Map<const Eigen::VectorXd>;
using Out = Eigen::Map<Eigen::VectorXd>;
using By_columns = Eigen::Map<Eigen::MatrixXd>;
using By_rows = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using Six_columns = Eigen::Map<Eigen::Matrix<double, 6, Eigen::Dynamic>>;
using Six = Eigen::Matrix<double, 6, 6>;

struct Robot
{
  pin::Model model;
  pin::Data data;
  pin::FrameIndex tip = 0;
  std::vector<pin::RigidConstraintModel> contacts;
  std::vector<pin::RigidConstraintData> contact_data;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian;
  Eigen::MatrixXd columns, delassus;
};

static pin::SE3 placement(const double * p)
{
  pin::SE3 x;
  x.rotation() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(p);
  x.translation() = Eigen::Map<const Eigen::Vector3d>(p + 9);
  return x;
}

static pin::JointModel joint(int kind, const double * axis)
{
  const Eigen::Vector3d a(axis[0], axis[1], axis[2]);
  switch (kind)
  {
  case 0: return pin::JointModelRX();
  case 1: return pin::JointModelRY();
  case 2: return pin::JointModelRZ();
  case 3: return pin::JointModelRevoluteUnaligned(a);
  case 4: return pin::JointModelPX();
  case 5: return pin::JointModelPY();
  case 6: return pin::JointModelPZ();
  case 7: return pin::JointModelPrismaticUnaligned(a);
  case 8: return pin::JointModelRUBX();
  case 9: return pin::JointModelRUBY();
  case 10: return pin::JointModelRUBZ();
  case 11: return pin::JointModelRevoluteUnboundedUnaligned(a);
  default: return pin::JointModelFreeFlyer();
  }
}

extern "C" __attribute__((visibility("default"))) void * robot_new(
  int joints, const int * parents, const int * kinds, const double * axes, const double * placements,
  const double * inertias, const double * armature, const double * gravity, int tip_joint,
  const double * tip_placement)
{
  auto * r = new Robot;
  for (int i = 0; i < joints; ++i)
  {
    const auto id = r->model.addJoint(
      parents[i], joint(kinds[i], axes + 3 * i), placement(placements + 12 * i), "j" + std::to_string(i + 1));
    const Eigen::Matrix<double, 10, 1> y = Eigen::Map<const Eigen::Matrix<double, 10, 1>>(inertias + 10 * i);
    r->model.appendBodyToJoint(id, pin::Inertia::FromDynamicParameters(y), pin::SE3::Identity());
  }
  r->model.armature = Row(armature, r->model.nv);
  r->model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
  const pin::SE3 at = placement(tip_placement);
  r->tip = r->model.addFrame(pin::Frame("tip", tip_joint, 0, at, pin::OP_FRAME));
  r->data = pin::Data(r->model);
  r->contacts.emplace_back(pin::CONTACT_6D, r->model, tip_joint, at, pin::LOCAL);
  r->contact_data.emplace_back(r->contacts[0]);
  r->jacobian.setZero(6, r->model.nv);
  r->delassus.setZero(6, 6);
  return r;
}

// Close loops: each has kind 6 or 3, rows that are constrained, and a joint and a placement for either side.
extern "C" __attribute__((visibility("default"))) void robot_close(
  void * handle, int count, const int * kinds, const int * firsts, const double * first_placements,
  const int * seconds, const double * second_placements)
{
  auto & r = *static_cast<Robot *>(handle);
  r.contacts.clear();
  r.contact_data.clear();
  for (int i = 0; i < count; ++i)
    r.contacts.emplace_back(
      kinds[i] == 6 ? pin::CONTACT_6D : pin::CONTACT_3D, r.model, firsts[i], placement(first_placements + 12 * i),
      seconds[i], placement(second_placements + 12 * i), pin::LOCAL);
  for (const auto & contact : r.contacts)
    r.contact_data.emplace_back(contact);
  pin::initConstraintDynamics(r.model, r.data, r.contacts, r.contact_data);
}

extern "C" __attribute__((visibility("default"))) void robot_delete(void * handle)
{
  delete static_cast<Robot *>(handle);
}

#define STATES(name, ...) \
  extern "C" __attribute__((visibility("default"))) void name(void * handle, long count, int variant, \
    const double * qs, const double * vs, const double * xs, double * out) \
  { \
    auto & [model, data, tip, contacts, contact_data, J, columns, delassus] = *static_cast<Robot *>(handle); \
    const long nq = model.nq, nv = model.nv; \
    const auto convention = variant ? pin::Convention::WORLD : pin::Convention::LOCAL; \
    for (long k = 0; k < count; ++k) \
    { \
      const Row q(qs + k * nq, nq), v(vs + k * nv, nv), x(xs + k * nv, nv); \
      __VA_ARGS__ \
    } \
  }

STATES(forward_dynamics, Out(out + k * nv, nv) = pin::aba(model, data, q, v, x, convention);)

STATES(inverse_dynamics, Out(out + k * nv, nv) = pin::rnea(model, data, q, v, x);)

STATES(mass_matrix, By_columns(out + k * nv * nv, nv, nv) = pin::crba(model, data, q, convention);)

STATES(mass_matrix_inverse, By_rows(out + k * nv * nv, nv, nv) = pin::computeMinverse(model, data, q);)

// Columns that the tip does not depend on stay as they are in the output: zero.
STATES(jacobian,
  Six_columns at(out + k * 6 * nv, 6, nv);
  pin::computeFrameJacobian(model, data, q, tip, pin::LOCAL, at);)

// The derivatives by q and v, one matrix after the other. That by a, the mass matrix, is left in data.
STATES(inverse_dynamics_derivatives,
  pin::computeRNEADerivatives(model, data, q, v, x);
  By_rows(out + (2 * k) * nv * nv, nv, nv) = data.dtau_dq;
  By_rows(out + (2 * k + 1) * nv * nv, nv, nv) = data.dtau_dv;)

// The derivatives by q, v and tau.
STATES(forward_dynamics_derivatives,
  pin::computeABADerivatives(model, data, q, v, x);
  By_rows(out + (3 * k) * nv * nv, nv, nv) = data.ddq_dq;
  By_rows(out + (3 * k + 1) * nv * nv, nv, nv) = data.ddq_dv;
  By_rows(out + (3 * k + 2) * nv * nv, nv, nv) = data.Minv;)

// Variant 0: the O(n) Delassus matrix J M⁻¹ Jᵀ of one contact. Variant 1: the same from crba, its sparse
// Cholesky factors U D Uᵀ, and Jᵀ through U. Then the inverse.
STATES(operational_inertia,
  if (variant == 0)
    pin::computeDelassusMatrix(model, data, q, contacts, contact_data, delassus, 0.0);
  else
  {
    pin::crba(model, data, q, pin::Convention::LOCAL);
    pin::cholesky::decompose(model, data);
    pin::computeFrameJacobian(model, data, q, tip, pin::LOCAL, J);
    columns = J.transpose();
    pin::cholesky::Uiv(model, data, columns);
    delassus.noalias() = columns.transpose() * data.Dinv.asDiagonal() * columns;
  }
  const Six mobility = delassus;
  Eigen::Map<Six>(out + k * 36) = mobility.llt().solve(Six::Identity());)

// For robots with closed loops, by `robot_close`. One step of the proximal method, which is exact if no row
// is redundant; variant 1 has a small regularisation and steps until it is gone, for rows that are.
STATES(closed_dynamics,
  pin::ProximalSettings settings(1e-12, variant ? 1e-10 : 0.0, variant ? 10 : 1);
  Out(out + k * nv, nv) = pin::constraintDynamics(model, data, q, v, x, contacts, contact_data, settings);)
